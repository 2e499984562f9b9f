"""The session log on NATS JetStream."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import nats.js.errors
import structlog
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext
from nats.js.api import PubAck, RawStreamMsg

from parley.events import Due, SessionEvent
from shared.bus.artefacts import Artefacts
from shared.bus.deliveries import observe_append
from shared.bus.errors import BusUnavailable
from shared.bus.jetstream_api import NATS_ERRORS, stream_info
from shared.bus.topology import SESSIONS, USED_TICKETS
from shared.log import (
    STORES_NOTHING,
    Indeterminate,
    LogCount,
    LogExtent,
    LogFull,
    LogUnavailable,
    StoredMessage,
    VersionConflict,
    body_of,
    guard_headers,
    subject_of,
)
from shared.telemetry import tracing

REQUEST_TIMEOUT, POLL_INTERVAL = 2.0, 0.5  # seconds for one request, and between two requests
log = structlog.get_logger("bus")
WRONG_SEQUENCE = 10071
FULL_CODES = (10023, 10047, 10077)  # error codes: the server, its disk or the stream has no room
APPEND_TIMEOUT = READ_TIMEOUT = 2.0  # seconds; after a lost answer the caller reads the tail
WRITE_TIMEOUT = 1.0  # seconds for the page of `check_writable`
PROBE = "readiness-probe"  # no ticket has this id
PAGE = b" " * 4096  # a smaller message may fit where a full disk has no room for an event
BATCH = 500
EVIDENCE_TTL = 10.0  # seconds that an append is evidence of whether the log stores events


async def publish_guarded(
    jetstream: JetStreamContext, stream: str, subject: str, body: bytes, headers: Mapping[str, str]
) -> PubAck:
    """Append a message whose headers name the last one that it follows.

    Raises VersionConflict, LogFull, Indeterminate.
    """
    try:
        return await jetstream.publish(subject, body, stream=stream, headers=dict(headers), timeout=APPEND_TIMEOUT)
    except nats.js.errors.APIError as error:
        if error.err_code == WRONG_SEQUENCE:
            raise VersionConflict(subject.split(".")[1]) from error
        if error.err_code in FULL_CODES:
            raise LogFull(f"NATS has no room in {stream}: {error.description}.") from error
        raise Indeterminate(str(error)) from error
    except NATS_ERRORS as error:
        raise Indeterminate(repr(error)) from error


class Replication:
    """The stream's replication. Until it is known, the log counts as clustered, which is the safe assumption."""

    def __init__(self) -> None:
        self._replicas: int | None = None

    @property
    def clustered(self) -> bool:
        return self._replicas != 1

    async def read(self, client: Client) -> bool:
        """Read the replica count; False if the stream is missing or does not answer."""
        try:
            config = (await stream_info(client, SESSIONS, seconds=REQUEST_TIMEOUT))["config"]
        except NATS_ERRORS:
            return False
        replicas = int(config.get("num_replicas", 1))
        if self._replicas not in (None, replicas):
            log.warning("replication_changed", stream=SESSIONS, before=self._replicas, now=replicas)
        self._replicas = replicas
        return True

    async def follow(self, client: Client) -> None:
        """Read the replica count, and retry until the stream answers."""
        while not await self.read(client):  # noqa: ASYNC110  there is no event for a stream being provisioned
            await asyncio.sleep(POLL_INTERVAL)


class JetStreamLog:
    """Implements shared.log.TimedLog.

    The connection must not buffer while it is down (pending_size=0): a buffered append would be stored long after its
    caller gave up.

    The servers of a cluster check the guard before they agree on the order, so a message without a guard can slip in
    between. Therefore `append` checks the order again afterwards.
    """

    def __init__(self, client: Callable[[], Client], replication: Replication) -> None:
        """`client` raises BusUnavailable until the bus is connected."""
        self._connected = client
        self._replication = replication
        self._stored_at = self._unanswered_at = -EVIDENCE_TTL

    @cached_property
    def _client(self) -> Client:
        try:
            return self._connected()
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error

    @cached_property
    def _jetstream(self) -> JetStreamContext:
        return self._client.jetstream(timeout=APPEND_TIMEOUT)

    @property
    def clustered(self) -> bool:
        return self._replication.clustered

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        try:
            position = await self._append(event, after, due)
        except Indeterminate:
            self._unanswered_at = time.monotonic()
            raise
        self._stored_at, self._unanswered_at = time.monotonic(), -EVIDENCE_TTL
        return position

    async def _append(self, event: SessionEvent, after: int, due: Due) -> int:
        body = body_of(event)
        with observe_append(event, due) as timing:
            headers = guard_headers(event.session_id, after, event.id) | dict(tracing.headers())
            try:
                ack = await publish_guarded(self._jetstream, SESSIONS, subject_of(event, due), body, headers)
            except VersionConflict:
                timing.outcome = "conflict"
                raise
            if ack.duplicate:
                raise Indeterminate("The log knows this id already.")
            if self.clustered and await self._next_position(event.session_id, after) != ack.seq:
                timing.outcome = "conflict"
                raise VersionConflict(
                    f"A message without a guard came before position {ack.seq} of {event.session_id}."
                )
            timing.outcome = "stored"
            return ack.seq

    async def _next_position(self, session_id: str, after: int) -> int | None:
        """The position of the session's first message after this one, as the leader knows it. Raises Indeterminate."""
        try:
            message = await self._jetstream.get_msg(
                SESSIONS, seq=after + 1, subject=f"session.{session_id}.>", next=True
            )
        except NATS_ERRORS as error:
            raise Indeterminate(repr(error)) from error
        return message.seq

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._read(f"session.{session_id}.>", after, limit, leader)

    async def _read(self, subjects: str, after: int, limit: int, leader: bool) -> list[StoredMessage]:
        try:
            read = self._read_one_by_one if leader else self._read_batches
            return await read(subjects, after, limit)
        except NATS_ERRORS as error:
            raise LogUnavailable(f"The log cannot be read: {error!r}") from error

    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        """Like `read`, for all sessions."""
        return await self._read("session.>", after, limit, leader)

    async def extent(self) -> LogExtent:
        """Raises LogUnavailable."""
        info = await self._info()
        state = info["state"]
        first = state["first_seq"] if state["messages"] else state["last_seq"] + 1
        return LogExtent(info["created"], first, state["last_seq"])

    async def count(self) -> LogCount:
        """Raises LogUnavailable."""
        info = await self._info()
        return LogCount(info["state"]["messages"], _time(info["ts"]))

    async def _info(self) -> dict[str, Any]:
        try:
            return await stream_info(self._client, SESSIONS, seconds=READ_TIMEOUT)
        except nats.js.errors.NotFoundError as error:
            raise LogUnavailable(f"The log cannot be read: {error.description}. Run `parley provision`.") from error
        except NATS_ERRORS as error:
            raise LogUnavailable(f"The log cannot be read: {error!r}") from error

    async def message(self, position: int) -> StoredMessage | None:
        """The message at this position; None if it was deleted. Raises LogUnavailable."""
        try:
            return _stored(await self._jetstream.get_msg(SESSIONS, seq=position))
        except nats.js.errors.NotFoundError:
            return None
        except NATS_ERRORS as error:
            raise LogUnavailable(f"The log cannot be read: {error!r}") from error

    async def check_writable(self) -> None:
        """See ReplicatedLog. Stores a page in the stream of used tickets, unless an append has just told."""
        if time.monotonic() - self._unanswered_at < EVIDENCE_TTL:
            raise LogFull(STORES_NOTHING)
        if time.monotonic() - self._stored_at < EVIDENCE_TTL:
            return
        try:
            await self._jetstream.publish(f"ticket.{PROBE}", PAGE, stream=USED_TICKETS, timeout=WRITE_TIMEOUT)
        except nats.js.errors.APIError as error:
            raise LogFull(f"NATS stores nothing: {error.description}.") from error
        except TimeoutError as error:
            raise LogFull(STORES_NOTHING) from error
        except NATS_ERRORS as error:
            raise LogUnavailable(f"NATS does not answer: {error!r}") from error
        self._stored_at = time.monotonic()

    async def purge(self, session_id: str) -> None:
        """Delete the session's messages and artefacts. Its id must not be used again. Raises LogUnavailable."""
        try:
            await self._jetstream.purge_stream(SESSIONS, subject=f"session.{session_id}.>")
            await Artefacts(self._client).drop(f"{session_id}/")
        except (BusUnavailable, *NATS_ERRORS) as error:
            raise LogUnavailable(f"The log cannot be purged: {error!r}") from error

    async def _read_one_by_one(self, subjects: str, after: int, limit: int) -> list[StoredMessage]:
        """Read from the stream's leader: only the leader surely has every stored message."""
        messages: list[StoredMessage] = []
        while len(messages) < limit:
            try:
                message = await self._jetstream.get_msg(SESSIONS, seq=after + 1, subject=subjects, next=True)
            except nats.js.errors.NotFoundError:
                break
            messages.append(_stored(message))
            after = messages[-1].position
        return messages

    async def _read_batches(self, subjects: str, after: int, limit: int) -> list[StoredMessage]:
        """Read from any replica, many messages per request (nats-py has no wrapper for this)."""
        inbox = self._client.new_inbox()
        subscription = await self._client.subscribe(inbox)
        messages: list[StoredMessage] = []
        more = True
        try:
            while more and len(messages) < limit:
                request = {"seq": after + 1, "next_by_subj": subjects, "batch": min(BATCH, limit - len(messages))}
                payload = json.dumps(request).encode()
                await self._client.publish(f"$JS.API.DIRECT.GET.{SESSIONS}", payload, reply=inbox)
                batch, more = await _batch(subscription)
                messages += batch
                after = messages[-1].position if messages else after
        finally:
            await subscription.unsubscribe()
        return messages


async def _batch(subscription: Subscription) -> tuple[list[StoredMessage], bool]:
    """The messages of one batch, and whether there are more."""
    messages: list[StoredMessage] = []
    while True:
        message = await subscription.next_msg(timeout=READ_TIMEOUT)
        headers = message.headers or {}
        if "Nats-Sequence" in headers:  # a message, which may carry any other header
            at = _time(headers["Nats-Time-Stamp"])
            messages.append(
                StoredMessage(int(headers["Nats-Sequence"]), headers["Nats-Subject"], headers, message.data, at)
            )
            continue
        match headers.get("Status"):
            case "204":
                return messages, int(headers.get("Nats-Num-Pending", "0")) > 0
            case "404":
                return messages, False
            case status:
                code = int(status or 0)
                raise nats.js.errors.ServiceUnavailableError(code=code, description=headers.get("Description"))


def _stored(message: RawStreamMsg) -> StoredMessage:
    """In nats-py every field is optional; of a stored message only headers and body can be missing."""
    at = message.time or datetime.now(UTC)
    return StoredMessage(message.seq or 0, message.subject or "", message.headers or {}, message.data or b"", at)


def _time(text: str) -> datetime:
    """Parse RFC 3339 with nanoseconds, the server's format."""
    head, _, tail = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{head}.{tail[:6]:0<6}+00:00")
