"""The session log: read a session's messages, add one fact to its end, never overwrite anybody's.

`commit` is the one guarded append of Parley: it decides, appends with the position it decided on, and when somebody
else was faster, or nobody can tell what happened, reads the tail and decides again.
"""

import asyncio
import time
from typing import NamedTuple, Protocol

from pydantic_core import from_json

from parley.events import Due, SessionEvent, dump_event, facts, parse_event
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decided, due
from shared.domain.errors import OutOfTurn
from shared.domain.forks import carried
from shared.domain.session import Session
from shared.log_reading import (
    EXPECTED,
    EXPECTED_SUBJECT,
    SessionAtPosition,
    StoredMessage,
    UpgradeNeeded,
    accept,
    expected_headers,
    follows,
    require_readable,
)

MESSAGE_ID = "Nats-Msg-Id"
MAX_BODY = 256 * 1024
MAX_FORK = 1008 * 1024  # of a fork's first event, with all that it takes over; a broker's default limit is 1 MiB
MAX_DEPTH, WRAPPED = (
    100,
    20,
)  # readers parse 200 levels of arrays and objects, and pages of events add some of their own
FIRST_DELAY, MAX_DELAY = 0.05, 0.5  # seconds between two tries while the log is away, or elects a leader
GONE_AFTER = 8  # times that somebody was first and nothing came after: a new leader may not know it all at once


class Extent(NamedTuple):
    """The log as a whole: when it was made, and the positions between which its messages are."""

    created: str
    first: int
    last: int  # below `first` where there are none


class VersionConflict(Exception):
    """Somebody else appended first: read the tail, decide again."""


class Indeterminate(Exception):
    """Nobody can tell whether the append was stored: read the tail before trying again."""


class LogDown(Exception):
    """The log cannot be reached."""


class LogFull(LogDown, Indeterminate):
    """The log has no room: nothing was stored. Who waits finds out whether somebody has made some."""


class Unstorable(ValueError):
    """The event must not be appended: a reader of the log would refuse it. Nothing was stored."""


class TooLarge(Unstorable):
    """The event's body is over `MAX_BODY` bytes, or that of a fork over `MAX_FORK`."""


class Log(Protocol):
    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        """Store the event if the session's last position is `after`; the new position.

        Raises LostRace, Unsure (among them LogFull) or Unstorable (among them TooLarge).
        """
        ...

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        """The session's messages with a position over `after`, in order. Raises LogDown."""
        ...


class WholeLog(Protocol):
    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        """The messages of all sessions with a position over `after`, in order. Raises LogDown."""
        ...


class ReplicatedLog(Log, Protocol):
    @property
    def clustered(self) -> bool:
        """Whether several servers keep it: a guard then proves nothing, and a replica may lag behind its leader."""
        ...


def body_of(event: SessionEvent) -> bytes:
    """The event's JSON as it is appended. Raises Unstorable where `parse_event` would refuse it."""
    try:
        body = dump_event(event)
        if isinstance(event, facts.SessionForked):
            if len(body) > MAX_FORK:
                raise TooLarge(f"The fork would take over {len(body)} bytes; {MAX_FORK} are allowed: fork it earlier.")
        elif len(body) > MAX_BODY:
            raise TooLarge(f"The event would be {len(body)} bytes; {MAX_BODY} are allowed.")
        parse_event(body)
        if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
            from_json(b"[" * WRAPPED + body + b"]" * WRAPPED)
    except Unstorable:
        raise
    except ValueError as error:  # also what pydantic raises, when it writes and when it reads
        reason = "; ".join(str(error).splitlines()[:3])
        raise Unstorable(f"The event could not be read again: {reason}"[:500]) from error
    return body


def subject_of(event: SessionEvent, due: Due) -> str:
    return f"session.{event.session_id}.{due}.{event.type}"


def guard(session_id: str, after: int, event_id: str) -> dict[str, str]:
    """The headers of a guarded append; the filter is this very string, always (another one would not be seen).

    The same event after another position is another message: a cluster would take it for the same one again.
    """
    return expected_headers(session_id, after) | {MESSAGE_ID: f"{event_id}@{after}"}


async def commit(
    log: Log, loaded: SessionAtPosition, command: AnyCommand, meta: CommandMeta, *, patience: float = 10
) -> tuple[SessionAtPosition, SessionEvent]:
    """Carry the command out: one event, stored once, whatever happens on the way.

    `patience` (seconds): how long a log that cannot be reached, or does not tell, is asked again.
    Raises a domain `Refused` when the newest state does not allow it, or the session was purged; LogDown when patience
    ends; UpgradeNeeded when a newer release has continued it.
    """
    deadline = time.monotonic() + patience
    delay, in_vain = FIRST_DELAY, 0
    while True:
        event, after = decided(loaded.session, command, meta)
        before = loaded.position
        try:
            return SessionAtPosition(after, await log.append(event, after=loaded.position, due=due(after))), event
        except (VersionConflict, Indeterminate) as lost:
            loaded, mine = await _catch_up(log, loaded, event, deadline)
            if mine:
                return loaded, event
            in_vain = 0 if loaded.position > before else in_vain + 1
            if isinstance(lost, VersionConflict):
                if in_vain > GONE_AFTER:
                    raise OutOfTurn("The session is not in the log any more: it was purged.") from lost
            elif time.monotonic() > deadline:
                if isinstance(lost, LogFull):
                    raise
                raise LogDown("The log does not answer.") from lost
            if in_vain or isinstance(lost, Indeterminate):
                # Where others get on the log works: a cluster refuses two at once.
                delay = min(delay * 2, MAX_DELAY) if in_vain else FIRST_DELAY
                await asyncio.sleep(delay)


async def _catch_up(
    log: Log, loaded: SessionAtPosition, sent: SessionEvent, deadline: float
) -> tuple[SessionAtPosition, bool]:
    """The session with its newest tail, and whether what was sent is in it."""
    delay = FIRST_DELAY
    while True:
        try:
            tail = await log.read(loaded.session.id, after=loaded.position, leader=True)
            break
        except LogDown:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(delay)
            delay = min(delay * 2, MAX_DELAY)
    mine, body = False, dump_event(sent)
    for raw in tail:
        try:
            loaded, event, _ = accept(loaded, raw)
        except UpgradeNeeded:
            if mine:
                break  # a newer release went on after it
            raise
        mine = mine or (event is not None and raw.data == body)
    return loaded, mine


async def newest(log: Log, loaded: SessionAtPosition) -> SessionAtPosition:
    """The session with what was appended to it since. Raises LogDown."""
    for raw in await log.read(loaded.session.id, after=loaded.position, leader=True):
        loaded, _, _ = accept(loaded, raw)
    return loaded


async def fork(log: Log, parent: Session, new_id: str, meta: CommandMeta) -> SessionEvent:
    """Begin session `new_id` from the parent as it is given. Raises Refused, LostRace, Unsure, Unstorable."""
    begun = Session(new_id)
    command = c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carried(parent))
    event, after = decided(begun, command, meta)
    await log.append(event, after=0, due=due(after))
    return event


__all__ = [
    "EXPECTED",
    "EXPECTED_SUBJECT",
    "MAX_BODY",
    "MAX_DEPTH",
    "MAX_FORK",
    "MESSAGE_ID",
    "Extent",
    "Indeterminate",
    "Log",
    "LogDown",
    "LogFull",
    "ReplicatedLog",
    "SessionAtPosition",
    "StoredMessage",
    "TooLarge",
    "Unstorable",
    "UpgradeNeeded",
    "VersionConflict",
    "WholeLog",
    "accept",
    "body_of",
    "commit",
    "follows",
    "fork",
    "guard",
    "newest",
    "require_readable",
    "subject_of",
]
