"""Fakes that keep the promises of the real things (the contract suites run over both), and a session's story.

story = Story("s1", log=InMemoryLog())
await story.commit(c.Say(text="A calculator"), c.DraftPlan(goal="Add", steps=STEPS))
"""

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.evolve import evolve
from shared.domain.people import PersonCommand
from shared.domain.session import SERVICE_OF, SESSION, Session
from shared.events import Due, Event, SessionEvent, dump_event, parse_event
from shared.log import (
    MAX_BODY,
    MESSAGE_ID,
    Loaded,
    Log,
    LostRace,
    NeedsParent,
    Raw,
    TooLarge,
    Unsure,
    accept,
    commit,
    guard,
    subject_of,
)
from shared.store import StoreDown

type Line = AnyCommand | SessionEvent | Callable[[Session], AnyCommand]


class InMemoryLog:
    """A Log in a list. Every event goes through its JSON, as it would on the bus."""

    def __init__(self) -> None:
        self.messages: list[Raw] = []
        self.faults: list[Exception] = []  # raised by the next appends; Unsure("stored") stores first
        self._positions = itertools.count(1)

    def publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        """A raw message, as any program on the bus could send it."""
        raw = Raw(next(self._positions), subject, headers or {}, data, datetime.now(UTC))
        self.messages.append(raw)
        return raw.position

    def last(self, session_id: str) -> int:
        return max((raw.position for raw in self._of(session_id)), default=0)

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if len(dump_event(event)) > MAX_BODY:
            raise TooLarge(f"The event would be {len(dump_event(event))} bytes; {MAX_BODY} are allowed.")
        fault = self.faults.pop(0) if self.faults else None
        if fault and str(fault) != "stored":
            raise fault
        if self.last(event.session_id) != after:
            raise LostRace(event.session_id)
        headers = guard(event.session_id, after, event.id)
        if any(raw.headers.get(MESSAGE_ID) == headers[MESSAGE_ID] for raw in self.messages):
            raise Unsure("The log knows this id already.")
        position = self.publish(subject_of(event, due), dump_event(event), headers)
        if fault:
            raise fault
        return position

    async def read(self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False) -> list[Raw]:
        return [raw for raw in self._of(session_id) if raw.position > after][:limit]

    async def session_ids(self) -> list[str]:
        return sorted({raw.subject.split(".")[1] for raw in self.messages})

    async def message(self, position: int) -> Raw | None:
        return next((raw for raw in self.messages if raw.position == position), None)

    async def purge(self, session_id: str) -> None:
        gone = self._of(session_id)
        self.messages = [raw for raw in self.messages if raw not in gone]

    def _of(self, session_id: str) -> Sequence[Raw]:
        return [raw for raw in self.messages if raw.subject.startswith(f"session.{session_id}.")]


class InMemoryStore:
    """Loads sessions by folding a log, without any database."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> Loaded:
        loaded = Loaded(Session(session_id), 0)
        async for loaded, _ in self._history(session_id):
            if loaded.session.version == version:
                break
        return loaded

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """Without a database there is nothing else to ask for. Raises StoreDown."""
        raise StoreDown(f"There is no plan store here that could answer {verb}.")

    async def events(self, session_id: str) -> list[SessionEvent]:
        """The session's accepted events, in order."""
        return [event async for _, event in self._history(session_id) if event]

    async def _history(self, session_id: str) -> AsyncIterator[tuple[Loaded, SessionEvent | None]]:
        """The session after each of its messages, and the event that the message was, if it was one."""
        loaded = Loaded(Session(session_id), 0)
        while page := await self._log.read(session_id, after=loaded.position):
            for raw in page:
                try:
                    loaded, event, _ = accept(loaded, raw)
                except NeedsParent as fork:
                    parent = await self.load(fork.parent, version=fork.version)
                    loaded, event, _ = accept(loaded, raw, parent.session)
                yield loaded, event


class Transition(NamedTuple):
    """One event of a session, with the session before and after it. `command`: what asked for it, where one did."""

    before: Session
    command: AnyCommand | None
    event: SessionEvent
    after: Session

    @property
    def due(self) -> Due:
        return due(self.after)


class Story:
    """A session told in commands. Each is decided and folded as in production, and the result is checked.

    A person's command is given by `user`, an expiry by the keeper, any other by the service whose work the session
    holds. Where a command depends on the session, a line of the story is a function of it.
    `apply` tells the story in memory; `commit` appends it to `log`, to which others may append meanwhile.
    """

    def __init__(
        self,
        session: Session | str = "s1",
        *,
        log: Log | None = None,
        user: str = "ann",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.session = Session(session) if isinstance(session, str) else session
        self.transitions: list[Transition] = []
        self.user = user
        self._log = log
        self._clock = clock
        self._cause: str | None = None  # the event that began the work at hand

    @property
    def id(self) -> str:
        return self.session.id

    @property
    def events(self) -> list[SessionEvent]:
        return [transition.event for transition in self.transitions]

    @property
    def log(self) -> Log:
        assert self._log, "this story is told in memory"
        return self._log

    def by(self, command: AnyCommand, user: str = "") -> By:
        """Who gives this command now."""
        at, number = self._clock(), self.session.version + 1
        if isinstance(command, PersonCommand):
            return By(f"user:{user or self.user}", at, f"cmd-{number}")
        if isinstance(command, c.Expire):
            return By("keeper", at)
        work = self.session.work
        own_id = f"usage-{number}" if isinstance(command, c.Spend) else None
        return By(work.service if work else "executor", at, own_id, self._cause, work)

    def apply(self, *lines: Line, user: str = "") -> Session:
        """The session after these lines."""
        for line in lines:
            told = line(self.session) if callable(line) else line
            command = None if isinstance(told, Event) else told
            event = told if isinstance(told, Event) else decide(self.session, told, self.by(told, user))
            self._add(command, event, evolve(self.session, event))
        return self.session

    async def commit(self, *lines: AnyCommand | Callable[[Session], AnyCommand], user: str = "") -> Session:
        """The session after these lines, each decided on what the log holds, and stored there."""
        for line in lines:
            loaded = await self.loaded()
            command = line(loaded.session) if callable(line) else line
            by = self.by(command, user)
            if isinstance(command, PersonCommand):
                by = by._replace(id=uuid4().hex[:12])  # two people may act on the same version
            after, event = await commit(self.log, loaded, command, by)
            self._add(command, event, after.session)
        return self.session

    async def load(self) -> Session:
        """The session as the log has it, whoever appended to it."""
        return (await self.loaded()).session

    async def loaded(self) -> Loaded:
        """The same, with its position."""
        loaded = await InMemoryStore(self.log).load(self.id)
        self.session = loaded.session
        return loaded

    def fork(self, new_id: str, user: str = "") -> "Story":
        """The story of a session that begins as this one is now."""
        child = Story(new_id, log=self._log, user=user or self.user, clock=self._clock)
        command = c.Fork(parent=self.id, parent_version=self.session.version)
        event = decide(child.session, command, child.by(command))
        child._add(command, event, evolve(self.session, event))
        return child

    def _add(self, command: AnyCommand | None, event: SessionEvent, after: Session) -> None:
        check(after, event)
        self.transitions.append(Transition(self.session, command, event, after))
        self.session = after
        if after.work and after.work.version == after.version:
            self._cause = event.id


def check(after: Session, event: SessionEvent) -> None:
    """Raise AssertionError unless what holds after every event holds after this one."""
    assert after.version == event.version
    assert SESSION.validate_json(SESSION.dump_json(after)) == after
    assert parse_event(dump_event(event)) == event
    assert after.work is None or SERVICE_OF.get(after.phase) == after.work.service
    assert after.question is None or after.phase == "awaiting_input"
    assert (after.failure is not None) == (after.phase == "failed")
