"""JetStreamLog: the session log on a real NATS JetStream."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property

import nats.js.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg

from parley.events import Due, SessionEvent
from shared.bus.api import AMBIGUOUS, stream_info
from shared.bus.artefacts import Artefacts
from shared.bus.errors import BusDown
from shared.bus.replication import Replication
from shared.bus.topology import SESSIONS
from shared.bus.watched import watched_append
from shared.log import (
    Extent,
    Indeterminate,
    LogDown,
    LogFull,
    StoredMessage,
    VersionConflict,
    body_of,
    guard,
    subject_of,
)
from shared.telemetry import tracing

WRONG_SEQUENCE = 10071
FULL = (10023, 10047, 10077)  # of the server, of its disk, of the stream
APPEND_TIMEOUT = READ_TIMEOUT = 2.0  # an answer lost with its server is waited for this long; then the tail is read
BATCH = 500


class JetStreamLog:
    """See shared.log.Log. The connection must not buffer while it is down (pending_size=0): a buffered append
    would be stored long after its caller gave it up.

    The servers of a cluster check the guard before they agree on the order, and so let a message without one pass in
    between: whoever appended looks again.
    """

    def __init__(self, client: Callable[[], Client], replication: Replication) -> None:
        """`client` raises BusDown until there is one: the log is down until then."""
        self._connected = client
        self._replication = replication

    @cached_property
    def _client(self) -> Client:
        try:
            return self._connected()
        except BusDown as error:
            raise LogDown(str(error)) from error

    @cached_property
    def _jetstream(self) -> JetStreamContext:
        return self._client.jetstream(timeout=APPEND_TIMEOUT)

    @property
    def clustered(self) -> bool:
        return self._replication.clustered

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        body = body_of(event)
        with watched_append(event, due) as seen:
            headers = guard(event.session_id, after, event.id) | dict(tracing.headers())
            try:
                ack = await self._jetstream.publish(
                    subject_of(event, due), body, stream=SESSIONS, headers=headers, timeout=APPEND_TIMEOUT
                )
            except nats.js.errors.APIError as error:
                if error.err_code == WRONG_SEQUENCE:
                    seen.outcome = "conflict"
                    raise VersionConflict(event.session_id) from error
                if error.err_code in FULL:
                    raise LogFull(f"NATS has no room for the event: {error.description}.") from error
                raise Indeterminate(str(error)) from error
            except AMBIGUOUS as error:
                raise Indeterminate(repr(error)) from error
            if ack.duplicate:
                raise Indeterminate("The log knows this id already.")
            if self.clustered and await self._next(event.session_id, after) != ack.seq:
                seen.outcome = "conflict"
                raise VersionConflict(
                    f"A message without a guard came before position {ack.seq} of {event.session_id}."
                )
            seen.outcome = "stored"
            return ack.seq

    async def _next(self, session_id: str, after: int) -> int | None:
        """The position of the session's first message after this one, as the leader knows it. Raises Unsure."""
        try:
            found = await self._jetstream.get_msg(SESSIONS, seq=after + 1, subject=f"session.{session_id}.>", next=True)
        except AMBIGUOUS as error:
            raise Indeterminate(repr(error)) from error
        return found.seq

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._read(f"session.{session_id}.>", after, limit, leader)

    async def _read(self, subjects: str, after: int, limit: int, leader: bool) -> list[StoredMessage]:
        try:
            read = self._read_one_by_one if leader else self._read_batches
            return await read(subjects, after, limit)
        except AMBIGUOUS as error:
            raise LogDown(f"The log cannot be read: {error!r}") from error

    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        """As `read`, of all sessions."""
        return await self._read("session.>", after, limit, leader)

    async def extent(self) -> Extent:
        """Raises LogDown."""
        try:
            answer = await stream_info(self._client, SESSIONS, seconds=READ_TIMEOUT)
        except nats.js.errors.NotFoundError as error:
            raise LogDown(f"The log cannot be read: {error.description}. Run `parley provision`.") from error
        except AMBIGUOUS as error:
            raise LogDown(f"The log cannot be read: {error!r}") from error
        state = answer["state"]
        first = state["first_seq"] if state["messages"] else state["last_seq"] + 1
        return Extent(answer["created"], first, state["last_seq"])

    async def message(self, position: int) -> StoredMessage | None:
        """The message at this position of the stream, if it is still there."""
        try:
            return _stored(await self._jetstream.get_msg(SESSIONS, seq=position))
        except nats.js.errors.NotFoundError:
            return None
        except AMBIGUOUS as error:
            raise LogDown(f"The log cannot be read: {error!r}") from error

    async def purge(self, session_id: str) -> None:
        """Remove every message of the session, and its artefacts. Its id must never be used again."""
        try:
            await self._jetstream.purge_stream(SESSIONS, subject=f"session.{session_id}.>")
            await Artefacts(self._client).drop(f"{session_id}/")
        except (BusDown, *AMBIGUOUS) as error:
            raise LogDown(f"The log cannot be purged: {error!r}") from error

    async def _read_one_by_one(self, subjects: str, after: int, limit: int) -> list[StoredMessage]:
        """Through the stream's leader, which alone is sure to know every stored message."""
        found: list[StoredMessage] = []
        while len(found) < limit:
            try:
                message = await self._jetstream.get_msg(SESSIONS, seq=after + 1, subject=subjects, next=True)
            except nats.js.errors.NotFoundError:
                break
            found.append(_stored(message))
            after = found[-1].position
        return found

    async def _read_batches(self, subjects: str, after: int, limit: int) -> list[StoredMessage]:
        """From any replica, many in one request (nats-py has no wrapper for it)."""
        inbox = self._client.new_inbox()
        subscription = await self._client.subscribe(inbox)
        found: list[StoredMessage] = []
        more = True
        try:
            while more and len(found) < limit:
                request = {"seq": after + 1, "next_by_subj": subjects, "batch": min(BATCH, limit - len(found))}
                payload = json.dumps(request).encode()
                await self._client.publish(f"$JS.API.DIRECT.GET.{SESSIONS}", payload, reply=inbox)
                batch, more = await _batch(subscription)
                found += batch
                after = found[-1].position if found else after
        finally:
            await subscription.unsubscribe()
        return found


async def _batch(subscription: Subscription) -> tuple[list[StoredMessage], bool]:
    """The messages of one batched get, and whether there are more."""
    found: list[StoredMessage] = []
    while True:
        message = await subscription.next_msg(timeout=READ_TIMEOUT)
        headers = message.headers or {}
        if "Nats-Sequence" in headers:  # a message; whoever stored it may have given it any other header
            at = _time(headers["Nats-Time-Stamp"])
            found.append(
                StoredMessage(int(headers["Nats-Sequence"]), headers["Nats-Subject"], headers, message.data, at)
            )
            continue
        match headers.get("Status"):
            case "204":
                return found, int(headers.get("Nats-Num-Pending", "0")) > 0
            case "404":
                return found, False
            case status:
                code = int(status or 0)
                raise nats.js.errors.ServiceUnavailableError(code=code, description=headers.get("Description"))


def _stored(message: RawStreamMsg) -> StoredMessage:
    """nats-py types every field as optional; of a stored message only headers and body may be missing."""
    at = message.time or datetime.now(UTC)
    return StoredMessage(message.seq or 0, message.subject or "", message.headers or {}, message.data or b"", at)


def _time(text: str) -> datetime:
    """RFC 3339 with nanoseconds, as the server writes it."""
    head, _, tail = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{tail[:6]:0<6}+00:00")
