"""The session log: read a session's messages, and append one event with optimistic concurrency.

`commit` is Parley's one guarded append. It decides a command and appends the event at the position it decided on. On a
version conflict, or when the result of the append is unknown, it reads the tail and decides again.
"""

import asyncio
import time
from datetime import datetime
from typing import NamedTuple, Protocol

from pydantic_core import from_json

from parley.events import Due, SessionEvent, dump_event, facts, parse_event
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand, decide_and_evolve, due
from shared.domain.transcript.forks import carry_over
from shared.log_reading import (
    EXPECTED_SEQUENCE,
    EXPECTED_SEQUENCE_SUBJECT,
    SessionAtPosition,
    StoredMessage,
    UpgradeNeeded,
    accept,
    expected_headers,
    follows,
    require_readable,
)
from shared.unavailable import Unavailable

MESSAGE_ID = "Nats-Msg-Id"
MAX_BODY = 256 * 1024
MAX_FORK = 1008 * 1024  # bytes of a fork's first event; a broker's default limit is 1 MiB
MAX_DEPTH = 100  # levels of arrays and objects; readers parse 200
ENVELOPE_DEPTH = 20  # levels that pages of events may add
FIRST_DELAY, MAX_DELAY = 0.05, 0.5  # seconds between two attempts while the log is unavailable or elects a leader
STORES_NOTHING = "The log can be read, and stores nothing: is its disk full?"
MAX_FRUITLESS_CONFLICTS = 8  # conflicts without a newer message: a new leader may lag


class LogExtent(NamedTuple):
    """The whole log: when it was created, and the positions of its first and last message."""

    created: str
    first: int
    last: int  # below `first` if the log is empty


class LogCount(NamedTuple):
    """How many messages the log has, and the broker's time of the count."""

    messages: int
    at: datetime


class VersionConflict(Exception):
    """Another writer appended first: read the tail and decide again."""


class Indeterminate(Exception):
    """It is unknown whether the append was stored: read the tail before trying again."""


class LogUnavailable(Unavailable):
    """The log cannot be reached."""


class LogFull(LogUnavailable, Indeterminate):
    """The log stores nothing, most likely because its disk is full. Retrying succeeds once there is room."""


class Unstorable(ValueError):
    """Readers of the log would refuse the event, so it was not stored."""


class EventTooLarge(Unstorable):
    """The event's body is over `MAX_BODY` bytes, or that of a fork over `MAX_FORK`."""


class SessionLog(Protocol):
    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        """Store the event if the session's last position is `after`; returns the new position.

        Raises VersionConflict, Indeterminate (including LogFull) or Unstorable (including EventTooLarge).
        """
        ...

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        """The session's messages with a position over `after`, in order. Raises LogUnavailable."""
        ...


class WholeLog(Protocol):
    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        """The messages of all sessions with a position over `after`, in order. Raises LogUnavailable."""
        ...


class ReplicatedLog(SessionLog, Protocol):
    @property
    def clustered(self) -> bool:
        """Whether several servers store the log: then guards prove nothing, and replicas may lag behind the leader."""
        ...

    async def check_writable(self) -> None:
        """Raises LogFull if NATS answers and stores nothing, LogUnavailable if it does not answer."""
        ...


class TimedLog(ReplicatedLog, Protocol):
    """A log that tells the broker's time, with the number of its messages."""

    async def count(self) -> LogCount:
        """Raises LogUnavailable."""
        ...


def body_of(event: SessionEvent) -> bytes:
    """The event's JSON to append. Raises Unstorable if `parse_event` would refuse it."""
    try:
        body = dump_event(event)
        if isinstance(event, facts.SessionForked):
            if len(body) > MAX_FORK:
                raise EventTooLarge(
                    f"The fork would take over {len(body)} bytes; {MAX_FORK} are allowed: fork it earlier."
                )
        elif len(body) > MAX_BODY:
            raise EventTooLarge(f"The event would be {len(body)} bytes; {MAX_BODY} are allowed.")
        parse_event(body)
        if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
            from_json(b"[" * ENVELOPE_DEPTH + body + b"]" * ENVELOPE_DEPTH)
    except Unstorable:
        raise
    except ValueError as error:  # includes pydantic's errors on writing and reading
        reason = "; ".join(str(error).splitlines()[:3])
        raise Unstorable(f"The event could not be read again: {reason}"[:500]) from error
    return body


def subject_of(event: SessionEvent, due: Due) -> str:
    return f"session.{event.session_id}.{due}.{event.type}"


def guard_headers(session_id: str, after: int, event_id: str) -> dict[str, str]:
    """The headers of a guarded append. All writers must use this exact filter: the server compares it literally.

    The message id includes the position, so that a cluster does not drop the event as a duplicate after a conflict.
    """
    return expected_headers(session_id, after) | {MESSAGE_ID: f"{event_id}@{after}"}


async def commit(
    log: SessionLog,
    loaded: SessionAtPosition,
    command: AnyCommand,
    meta: CommandMeta,
    *,
    timeout: float = 10,  # noqa: ASYNC109
) -> tuple[SessionAtPosition, SessionEvent]:
    """Carries out the command: appends one event exactly once, through conflicts and outages.

    `timeout`: seconds for which an append or a read is retried while the log is unavailable or its answer is lost.
    Raises CommandRefused if the newest state does not allow the command or the session was purged, LogUnavailable after
    the timeout, UpgradeNeeded if a newer release has continued the session.
    """
    deadline = time.monotonic() + timeout
    delay, fruitless = FIRST_DELAY, 0
    while True:
        event, after = decide_and_evolve(loaded.session, command, meta)
        before = loaded.position
        try:
            return SessionAtPosition(after, await log.append(event, after=loaded.position, due=due(after))), event
        except (VersionConflict, Indeterminate) as error:
            loaded, is_stored = await _read_tail(log, loaded, event, deadline)
            if is_stored:
                return loaded, event
            fruitless = 0 if loaded.position > before else fruitless + 1
            if isinstance(error, VersionConflict):
                if fruitless > MAX_FRUITLESS_CONFLICTS:
                    raise OutOfTurn("The log no longer has the session's newest events: purged, or lost.") from error
            elif time.monotonic() > deadline:
                if isinstance(error, LogFull):
                    raise
                raise LogFull(STORES_NOTHING) from error  # its tail has just been read
            if fruitless or isinstance(error, Indeterminate):
                # While other writers succeed, the log works: the cluster only refuses concurrent appends.
                delay = min(delay * 2, MAX_DELAY) if fruitless else FIRST_DELAY
                await asyncio.sleep(delay)


async def _read_tail(
    log: SessionLog, loaded: SessionAtPosition, sent: SessionEvent, deadline: float
) -> tuple[SessionAtPosition, bool]:
    """The session with its newest messages, and whether the sent event is among them."""
    delay = FIRST_DELAY
    while True:
        try:
            tail = await log.read(loaded.session.id, after=loaded.position, leader=True)
            break
        except LogUnavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_DELAY)
    is_stored, body = False, dump_event(sent)
    for message in tail:
        try:
            loaded, event, _ = accept(loaded, message)
        except UpgradeNeeded:
            if is_stored:
                break  # a newer release continued the session after it
            raise
        is_stored = is_stored or (event is not None and message.data == body)
    return loaded, is_stored


async def catch_up(log: SessionLog, loaded: SessionAtPosition) -> SessionAtPosition:
    """The session with the messages appended since. Raises LogUnavailable."""
    for message in await log.read(loaded.session.id, after=loaded.position, leader=True):
        loaded, _, _ = accept(loaded, message)
    return loaded


async def fork(log: SessionLog, parent: Session, new_id: str, meta: CommandMeta) -> SessionEvent:
    """Begins session `new_id` as a fork of the parent.

    Raises CommandRefused, VersionConflict, Indeterminate, Unstorable.
    """
    child = Session(new_id)
    command = c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carry_over(parent))
    event, after = decide_and_evolve(child, command, meta)
    await log.append(event, after=0, due=due(after))
    return event


__all__ = [
    "EXPECTED_SEQUENCE",
    "EXPECTED_SEQUENCE_SUBJECT",
    "MAX_BODY",
    "MAX_DEPTH",
    "MAX_FORK",
    "MESSAGE_ID",
    "STORES_NOTHING",
    "EventTooLarge",
    "Indeterminate",
    "LogCount",
    "LogExtent",
    "LogFull",
    "LogUnavailable",
    "ReplicatedLog",
    "SessionAtPosition",
    "SessionLog",
    "StoredMessage",
    "TimedLog",
    "Unstorable",
    "UpgradeNeeded",
    "VersionConflict",
    "WholeLog",
    "accept",
    "body_of",
    "catch_up",
    "commit",
    "follows",
    "fork",
    "guard_headers",
    "require_readable",
    "subject_of",
]
