"""Large REST responses: sent no faster than the client reads, and counted as unread data until then."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.access.quota import MESSAGE_BYTES, Quota
from services.gateway.api_errors import ApiError
from services.gateway.rest import requests


class ResponseBackpressure:
    """ASGI middleware: sends a response in parts, as the server waits for a slow client before each part."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _MeteredResponse(send)

        async def metered_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                await response.start(message, scope, receive)
            else:
                await response.send_body(message)

        try:
            await self._app(scope, receive, metered_send)
        finally:
            response.overflow()


class _MeteredResponse:
    """One response. A large one of a known user is a SendBuffer of their quota."""

    def __init__(self, send: Send) -> None:
        self.size = 0
        self._send = send
        self._quota: Quota | None = None
        self._dropped = False

    async def start(self, message: Message, scope: Scope, receive: Receive) -> None:
        size = int(Headers(raw=message["headers"]).get("content-length", 0))
        quota: Quota | None = scope.get("state", {}).get("quota")
        if quota is None:
            await self._send(message)
            return
        quota.charge_response(size)
        try:
            if size > MESSAGE_BYTES:
                quota.check_may_buffer(size)
                self.size, self._quota = size, quota
                quota.add_unread(self, size)
        except ApiError as error:
            self._dropped = True
            await requests.problem_response(error)(scope, receive, self._send)
        else:
            await self._send(message)

    async def send_body(self, message: Message) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        for start in range(0, len(body) - MESSAGE_BYTES, MESSAGE_BYTES):
            if not self._dropped:
                part = body[start : start + MESSAGE_BYTES]
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
        last = (len(body) - 1) // MESSAGE_BYTES * MESSAGE_BYTES if body else 0
        if not self._dropped:
            await self._send({"type": "http.response.body", "body": body[last:], "more_body": more})

    def overflow(self) -> None:
        """Stop sending the response, and stop counting it."""
        self._dropped = True
        size, self.size = self.size, 0
        if self._quota:
            self._quota.remove_unread(self, size)
