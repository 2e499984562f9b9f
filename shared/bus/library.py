"""JetStreamLibrary: the log of templates on a real NATS JetStream, a subject each: `library.<id>`."""

from collections.abc import Callable
from datetime import UTC, datetime

import nats.js.errors
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.errors import BusDown
from shared.bus.jetstream import APPEND_TIMEOUT, FULL, WRONG_SEQUENCE
from shared.bus.topology import LIBRARY
from shared.library_log import ROLLUP, expected, subject_of
from shared.log import Indeterminate, LogDown, LogFull, StoredMessage, VersionConflict


class JetStreamLibrary:
    """See shared.library_log.LibraryLog. As with sessions, a cluster's guard is looked at again by whoever appended."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._connected = client

    async def append(self, template_id: str, body: bytes, *, after: int, last: bool = False) -> StoredMessage:
        headers = expected(after) | ({ROLLUP: "sub"} if last else {})
        try:
            ack = (
                await self._client()
                .jetstream(timeout=APPEND_TIMEOUT)
                .publish(subject_of(template_id), body, stream=LIBRARY, headers=headers, timeout=APPEND_TIMEOUT)
            )
        except nats.js.errors.APIError as error:
            if error.err_code == WRONG_SEQUENCE:
                raise VersionConflict(template_id) from error
            if error.err_code in FULL:
                raise LogFull(f"NATS has no room for the template: {error.description}.") from error
            raise Indeterminate(str(error)) from error
        except AMBIGUOUS as error:
            raise Indeterminate(repr(error)) from error
        return StoredMessage(ack.seq, subject_of(template_id), headers, body, datetime.now(UTC))

    async def read(self, *, after: int, limit: int = 500) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        try:
            jetstream = self._client().jetstream(timeout=APPEND_TIMEOUT)
            while len(found) < limit:
                message = await jetstream.get_msg(LIBRARY, seq=after + 1, subject=subject_of(">"), next=True)
                after = message.seq or 0
                at = message.time or datetime.now(UTC)
                found.append(
                    StoredMessage(after, message.subject or "", message.headers or {}, message.data or b"", at)
                )
        except nats.js.errors.NotFoundError:
            pass
        except AMBIGUOUS as error:
            raise LogDown(f"The log of templates cannot be read: {error!r}") from error
        return found

    def _client(self) -> Client:
        try:
            return self._connected()
        except BusDown as error:
            raise LogDown(str(error)) from error
