"""uvicorn's HTTP protocol over httptools, with limits on what an unauthenticated client may cost.

Limits apply while bytes arrive. A read is parsed in small pieces, so that the event loop can do other work in between.
"""

import asyncio
from typing import Any, NamedTuple, cast

import httptools
import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from services.gateway.api_errors import ApiError
from services.gateway.live import websocket_protocol
from services.gateway.live.websocket_protocol import WebSocketProtocol, close_lingering
from services.gateway.rest.models import PROBLEM_MEDIA_TYPE, ProblemDetails
from services.gateway.rest.page import SAFE_HEADERS
from shared.settings import Settings

MAX_FRAME_BYTES = 1024 * 1024  # bytes of a WebSocket message; beyond, the connection ends with 1009
MAX_URL_BYTES = 8 * 1024
MAX_FRAMING_BYTES = 64 * 1024  # of a request without its body: request line, headers, chunk sizes, trailers
MAX_FIELDS = 128  # headers and trailers
MAX_PIPELINED = 16  # requests that wait for the response to an earlier one
PIECE_BYTES = 8 * 1024  # parsed at once
KEEP_ALIVE = 75  # seconds between requests: longer than a proxy reuses a connection, or it might send as we close it


class UvicornConfig(uvicorn.Config):
    """uvicorn's configuration, and the state that connections share."""

    def __init__(self, app: ASGIApp, settings: Settings, **options: Any) -> None:
        super().__init__(
            app,
            http=HttpProtocol,
            ws=WebSocketProtocol,
            ws_max_size=MAX_FRAME_BYTES,
            log_config=None,
            access_log=False,  # its lines carry URLs, and a URL may carry a token
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            **{"timeout_keep_alive": KEEP_ALIVE} | options,
        )
        self.settings = settings
        self.waiting: dict[HttpProtocol, None] = {}  # connections without a complete request head, oldest first


class Refusal(NamedTuple):
    """Why the rest of a request is not read."""

    status: int
    code: str
    message: str
    hint: str


class RequestRejected(Exception):
    """Raised in a callback of the parser to stop it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


MALFORMED = Refusal(400, "bad_request", "This is not HTTP/1.1 as the gateway reads it.", "Check the request's syntax.")
TOO_SLOW = Refusal(408, "timed_out", "The request did not arrive in time.", "Send it again, on a faster connection.")
URL_TOO_LONG = Refusal(
    414, "too_large", f"A URL may have {MAX_URL_BYTES // 1024} KiB at most.", "Send long values in the body."
)
TOO_MANY_FIELDS = Refusal(431, "too_large", f"A request may have {MAX_FIELDS} headers at most.", "Send fewer.")
TOO_MUCH_FRAMING = Refusal(
    431,
    "too_large",
    f"Headers and the sizes of chunks may have {MAX_FRAMING_BYTES // 1024} KiB at most in one request.",
    "Send shorter headers, or larger chunks.",
)
TOO_MANY_REQUESTS = Refusal(
    429, "slow_down", f"{MAX_PIPELINED} requests wait on this connection.", "Wait for answers, or open another one."
)


class HttpProtocol(HttpToolsProtocol):
    """One connection. It answers a request that exceeds a limit with an error, and closes."""

    config: UvicornConfig

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = FlowControl(cast(asyncio.Transport, self))  # calls pause_reading and resume_reading below
        self._unparsed = bytearray()
        self._parse_scheduled = self._refused = False
        self._reading_head = self._request_begun = False
        self._framing = self._fields = self._field_bytes = 0
        self._answering: RequestResponseCycle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)
        self.resume_writing()

    # --- reading and parsing in pieces

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._unset_keepalive_if_required()
        self._unparsed += data
        if not self._parse_scheduled and not self.flow.read_paused:
            self._parse()

    def pause_reading(self) -> None:
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again once everything read so far is parsed."""
        if self.transport.is_closing() or self._parse_scheduled:
            return
        if self._unparsed:
            self._parse_scheduled = True
            self.transport.pause_reading()
            self.loop.call_soon(self._parse)
        else:
            self.transport.resume_reading()

    def _parse(self) -> None:
        self._parse_scheduled = False
        if self._refused or self.transport.is_closing() or self.flow.read_paused:
            return
        piece = bytes(self._unparsed[:PIECE_BYTES])
        del self._unparsed[:PIECE_BYTES]
        self._framing += len(piece)  # `on_body` subtracts the body
        try:
            self.parser.feed_data(piece)
            if self._framing > MAX_FRAMING_BYTES:
                raise RequestRejected(TOO_MUCH_FRAMING)
        except httptools.HttpParserUpgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
                return
        except httptools.HttpParserError as error:
            self._refuse(error.__context__.refusal if isinstance(error.__context__, RequestRejected) else MALFORMED)
        except RequestRejected as refused:
            self._refuse(refused.refusal)
        if not self._refused and not self.flow.read_paused:
            self.resume_reading()

    # --- callbacks of the parser

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise RequestRejected(TOO_MANY_REQUESTS)
        super().on_message_begin()
        self._framing = self._fields = self._field_bytes = 0
        self._reading_head = self._request_begun = True
        self._set_deadline()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL_BYTES:
            raise RequestRejected(URL_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields, self._field_bytes = self._fields + 1, self._field_bytes + len(name) + len(value)
        is_long = self._field_bytes > MAX_FRAMING_BYTES  # `_framing` does not have the piece that the request begins in
        if is_long or self._fields > MAX_FIELDS:
            raise RequestRejected(TOO_MUCH_FRAMING if is_long else TOO_MANY_FIELDS)
        if self._reading_head:  # ignore trailers: no proxy has checked them
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._reading_head = False
        if self.parser.get_http_version() not in ("1.0", "1.1"):  # llhttp takes a line without a version for 0.9
            raise RequestRejected(MALFORMED)
        self._stop_waiting()
        self._set_deadline()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._framing -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._request_begun = False
        self._cancel_deadline()
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._limit_flush()
        elif not self.pipeline and not self._request_begun:
            self._await_head()

    def handle_websocket_upgrade(self) -> None:
        self._stop_waiting()
        self._unparsed.clear()  # no frames are allowed before the handshake is answered
        super().handle_websocket_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _unsupported_upgrade_warning(self) -> None:
        """Do not log it: a client that offers another protocol is answered in this one."""

    # --- time

    def _await_head(self) -> None:
        """Add this connection to the waiting ones; over the limit, close the one that has waited longest."""
        waiting = self.config.waiting
        waiting[self] = None
        if len(waiting) > self.config.settings.max_idle_connections:
            oldest = next(iter(waiting))
            oldest._stop_waiting()
            oldest._close()
        self._set_deadline()

    def _stop_waiting(self) -> None:
        self.config.waiting.pop(self, None)
        self._cancel_deadline()

    def _set_deadline(self) -> None:
        self._cancel_deadline()
        seconds = KEEP_ALIVE if self.cycle and not self._request_begun else self.config.settings.request_timeout
        self._deadline = self.loop.call_later(seconds, self._deadline_passed)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _deadline_passed(self) -> None:
        if self._request_begun:
            self._refuse(TOO_SLOW)
        else:
            self._close()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._limit_flush()

    def _limit_flush(self) -> None:
        """Abort a closing transport after a timeout: it would wait forever for its client to read the rest."""
        if self._write_deadline is None and self.transport.get_write_buffer_size():
            self.pause_writing()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self.config.settings.request_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    # --- the end

    def _refuse(self, refusal: Refusal) -> None:
        """Send the error if this request is the next one to be answered, and let the client read it."""
        self._refused = True
        self._unparsed.clear()
        self._stop_waiting()
        self._unset_keepalive_if_required()
        if self._may_answer():
            self.transport.write(_response(refusal, self.server_state.default_headers))
        self.pipeline.clear()
        if self._answering is not None:
            self._answering.disconnected = True
            self._answering.message_event.set()
        close_lingering(self.transport, self.loop, websocket_protocol.LINGER_SECONDS)

    def _may_answer(self) -> bool:
        """Whether no earlier request awaits its response, and no byte of this response has been sent."""
        if self.cycle is None:
            return True
        if self.cycle.response_complete:
            return self._reading_head
        return self.cycle.more_body and not self.cycle.response_started and not self.pipeline


def _response(refusal: Refusal, default_headers: list[tuple[bytes, bytes]]) -> bytes:
    problem = ProblemDetails.of(ApiError(refusal.code, refusal.message, refusal.hint), refusal.status)
    answer = JSONResponse(
        problem.model_dump(), refusal.status, {**SAFE_HEADERS, "Connection": "close"}, PROBLEM_MEDIA_TYPE
    )
    headers = (b"%b: %b\r\n" % header for header in (*default_headers, *answer.raw_headers))
    return b"".join((STATUS_LINE[refusal.status], *headers, b"\r\n", bytes(answer.body)))
