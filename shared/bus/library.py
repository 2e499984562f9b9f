"""The log of templates on NATS JetStream, with one subject per template: `library.<id>`."""

from collections.abc import Callable
from datetime import UTC, datetime

import nats.js.errors
from nats.aio.client import Client

from shared.bus.errors import BusUnavailable
from shared.bus.jetstream import APPEND_TIMEOUT, publish_guarded
from shared.bus.jetstream_api import NATS_ERRORS
from shared.bus.topology import LIBRARY
from shared.log import LogUnavailable, StoredMessage
from shared.template_log import ROLLUP, expected_headers, subject_of


class JetStreamLibrary:
    """Implements shared.template_log.TemplateLog."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._connected = client

    async def append(self, template_id: str, body: bytes, *, after: int, last: bool = False) -> int:
        headers = expected_headers(after) | ({ROLLUP: "sub"} if last else {})
        jetstream = self._client().jetstream(timeout=APPEND_TIMEOUT)
        return (await publish_guarded(jetstream, LIBRARY, subject_of(template_id), body, headers)).seq

    async def read(self, *, after: int, limit: int = 500) -> list[StoredMessage]:
        messages: list[StoredMessage] = []
        try:
            jetstream = self._client().jetstream(timeout=APPEND_TIMEOUT)
            while len(messages) < limit:
                message = await jetstream.get_msg(LIBRARY, seq=after + 1, subject=subject_of(">"), next=True)
                after = message.seq or 0
                at = message.time or datetime.now(UTC)
                messages.append(
                    StoredMessage(after, message.subject or "", message.headers or {}, message.data or b"", at)
                )
        except nats.js.errors.NotFoundError:
            pass
        except NATS_ERRORS as error:
            raise LogUnavailable(f"The log of templates cannot be read: {error!r}") from error
        return messages

    def _client(self) -> Client:
        try:
            return self._connected()
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error
