"""The session log: read a session's messages, add one fact to its end, never overwrite anybody's.

`commit` is the one guarded append of Parley: it decides, appends with the position it decided on, and when somebody
else was faster, or nobody can tell what happened, reads the tail and decides again.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError
from pydantic_core import from_json

from shared.domain import commands as c
from shared.domain.admissible import admissible
from shared.domain.commands import By
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import OutOfTurn
from shared.domain.evolve import evolve
from shared.domain.forks import carried
from shared.domain.session import Session
from shared.events import Due, SessionEvent, dump_event, envelope, facts, parse_event
from shared.events.envelope import Head, is_newer, read_head

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"
MESSAGE_ID = "Nats-Msg-Id"
MAX_BODY = 256 * 1024
MAX_FORK = 1008 * 1024  # of a fork's first event, with all that it takes over; a broker's default limit is 1 MiB
MAX_DEPTH, WRAPPED = (
    100,
    20,
)  # readers parse 200 levels of arrays and objects, and pages of events add some of their own
FIRST_DELAY, MAX_DELAY = 0.05, 0.5  # seconds between two tries while the log is away, or elects a leader
GONE_AFTER = 8  # times that somebody was first and nothing came after: a new leader may not know it all at once


class Raw(NamedTuple):
    """One stored message. `position` is its sequence in the stream."""

    position: int
    subject: str
    headers: Mapping[str, str]
    data: bytes
    at: datetime


class Loaded(NamedTuple):
    """A session, and the position of the last message under its subjects, readable or not."""

    session: Session
    position: int


class Extent(NamedTuple):
    """The log as a whole: when it was made, and the positions between which its messages are."""

    created: str
    first: int
    last: int  # below `first` where there are none


class LostRace(Exception):
    """Somebody else appended first: read the tail, decide again."""


class Unsure(Exception):
    """Nobody can tell whether the append was stored: read the tail before trying again."""


class LogDown(Exception):
    """The log cannot be reached."""


class LogFull(LogDown, Unsure):
    """The log has no room: nothing was stored. Who waits finds out whether somebody has made some."""


class Unstorable(ValueError):
    """The event must not be appended: a reader of the log would refuse it. Nothing was stored."""


class TooLarge(Unstorable):
    """The event's body is over `MAX_BODY` bytes, or that of a fork over `MAX_FORK`."""


class UpgradeNeeded(Exception):
    """A newer release has continued the session: this one folds no further, and decides nothing.

    `position` is that of the event that it cannot fold, 0 where it is not known; `needs` and `rules` are the event's.
    """

    code = "upgrade_needed"

    def __init__(self, session_id: str, *, position: int = 0, needs: int = 1, rules: int = 1) -> None:
        super().__init__(f"A newer release of Parley has continued session {session_id}: upgrade this one.")
        self.session_id, self.position, self.needs, self.rules = session_id, position, needs, rules


class Log(Protocol):
    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        """Store the event if the session's last position is `after`; the new position.

        Raises LostRace, Unsure (among them LogFull) or Unstorable (among them TooLarge).
        """
        ...

    async def read(self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False) -> list[Raw]:
        """The session's messages with a position over `after`, in order. Raises LogDown."""
        ...


class WholeLog(Protocol):
    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[Raw]:
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
    return _expected(session_id, after) | {MESSAGE_ID: f"{event_id}@{after}"}


def follows(raw: Raw, position: int) -> bool:
    """Whether the broker was to make sure that the session's last message was at this position. A single server has;
    a cluster may have let one without a guard pass."""
    return _expected(raw.subject.split(".")[1], position).items() <= raw.headers.items()


def _expected(session_id: str, after: int) -> dict[str, str]:
    return {EXPECTED: str(after), EXPECTED_SUBJECT: f"session.{session_id}.>"}


def accept(loaded: Loaded, raw: Raw) -> tuple[Loaded, SessionEvent | None, str]:
    """Fold one stored message: the session after it, its event, or why it is not one ("" when it is).

    What is not an event of the session moves the position alone, so a foreign message never blocks it. Raises
    UpgradeNeeded where the session goes on with what only a newer release can fold. Who is due, as the subject says it,
    is a fact like any other: today's rules do not judge it.
    """
    moved = Loaded(loaded.session, raw.position)
    try:
        event = parse_event(raw.data)
    except ValidationError as error:
        _stop_at_newer(loaded, raw, read_head(raw.data))
        return moved, None, _unguarded(loaded, raw) or _unreadable(error)
    _stop_at_newer(loaded, raw, event)
    wrong = _unguarded(loaded, raw) or _out_of_place(loaded.session, raw.subject, event)
    if wrong := wrong or admissible(loaded.session, event):
        return moved, None, wrong
    return Loaded(evolve(loaded.session, event), raw.position), event, ""


def _stop_at_newer(loaded: Loaded, raw: Raw, head: SessionEvent | Head | None) -> None:
    """Raise UpgradeNeeded for the session's next event, where this release cannot fold it.

    The first message of a session may follow any position, and have any version: an archive begins with a later one.
    """
    if head is None or not is_newer(head) or not _is_about(raw.subject, head) or head.session_id != loaded.session.id:
        return
    next_version = head.version == loaded.session.version + 1
    if loaded.position == 0 or (next_version and raw.headers.get(EXPECTED) == str(loaded.position)):
        raise UpgradeNeeded(
            loaded.session.id, position=raw.position, needs=head.needs, rules=max(head.rules or 1, loaded.session.rules)
        )


def _unguarded(loaded: Loaded, raw: Raw) -> str:
    """Why the guard does not vouch for the message. The very first one of a session needs none: whoever knows only the
    subject can begin one."""
    expected = raw.headers.get(EXPECTED)
    if expected is None and loaded.position:
        return "unguarded: it does not say which position it follows"
    if expected is not None and expected != str(loaded.position):
        return f"it follows position {expected}, but the session was at {loaded.position}"
    return ""


def _unreadable(error: ValidationError) -> str:
    problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors()[:3])
    return f"unreadable: {problems}"[:500]


def _is_about(subject: str, head: SessionEvent | Head) -> bool:
    """Whether the subject names this session and type; who is due may be anybody."""
    _, session_id, _, kind = (*subject.split(".", 3), "", "", "")[:4]
    return session_id == head.session_id and kind == head.type


def require_readable(session: Mapping[str, Any]) -> None:
    """Raise UpgradeNeeded where a newer release folded this session, given as JSON data, from what only it knows."""
    needs, rules = session.get("needs", 1), session.get("rules", 1)
    if needs > envelope.FORMAT or rules > envelope.RULES:
        raise UpgradeNeeded(str(session.get("id")), needs=needs, rules=rules)


def _out_of_place(session: Session, subject: str, event: SessionEvent) -> str:
    if event.session_id != session.id:
        return f"it is of session {event.session_id}"
    if not _is_about(subject, event):
        return f"wrong subject: it belongs on session.{session.id}.*.{event.type}"
    if event.version != session.version + 1:
        return f"version {event.version} after version {session.version}"
    return ""


async def commit(
    log: Log, loaded: Loaded, command: AnyCommand, by: By, *, patience: float = 10
) -> tuple[Loaded, SessionEvent]:
    """Carry the command out: one event, stored once, whatever happens on the way.

    `patience` (seconds): how long a log that cannot be reached, or does not tell, is asked again.
    Raises a domain `Refused` when the newest state does not allow it, or the session was purged; LogDown when patience
    ends; UpgradeNeeded when a newer release has continued it.
    """
    deadline = time.monotonic() + patience
    delay, in_vain = FIRST_DELAY, 0
    while True:
        event, before = decide(loaded.session, command, by), loaded.position
        after = evolve(loaded.session, event)
        try:
            return Loaded(after, await log.append(event, after=loaded.position, due=due(after))), event
        except (LostRace, Unsure) as lost:
            loaded, mine = await _catch_up(log, loaded, event, deadline)
            if mine:
                return loaded, event
            in_vain = 0 if loaded.position > before else in_vain + 1
            if isinstance(lost, LostRace):
                if in_vain > GONE_AFTER:
                    raise OutOfTurn("The session is not in the log any more: it was purged.") from lost
            elif time.monotonic() > deadline:
                if isinstance(lost, LogFull):
                    raise
                raise LogDown("The log does not answer.") from lost
            if in_vain or isinstance(lost, Unsure):
                # Where others get on the log works: a cluster refuses two at once.
                delay = min(delay * 2, MAX_DELAY) if in_vain else FIRST_DELAY
                await asyncio.sleep(delay)


async def _catch_up(log: Log, loaded: Loaded, sent: SessionEvent, deadline: float) -> tuple[Loaded, bool]:
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


async def newest(log: Log, loaded: Loaded) -> Loaded:
    """The session with what was appended to it since. Raises LogDown."""
    for raw in await log.read(loaded.session.id, after=loaded.position, leader=True):
        loaded, _, _ = accept(loaded, raw)
    return loaded


async def fork(log: Log, parent: Session, new_id: str, by: By) -> SessionEvent:
    """Begin session `new_id` from the parent as it is given. Raises Refused, LostRace, Unsure, Unstorable."""
    begun = Session(new_id)
    command = c.Fork(parent=parent.id, parent_version=parent.version, carried=carried(parent))
    event = decide(begun, command, by)
    await log.append(event, after=0, due=due(evolve(begun, event)))
    return event
