"""A session told in commands, for tests, documents and benches.

story = Story("s1", log=InMemoryLog())
await story.commit(c.Say(text="A calculator"), c.DraftPlan(goal="Add", steps=STEPS))
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from parley.events import Due, Event, SessionEvent, dump_event, parse_event
from parley.events.values import ModelCall, Outcome
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.evolve import evolve
from shared.domain.forks import carried
from shared.domain.people import PersonCommand
from shared.domain.session import SERVICE_OF, SESSION, Session
from shared.log import ReplicatedLog, SessionAtPosition, commit
from shared.testing import InMemoryStore


def finish(action_id: str = "1.1", ok: bool = True, **more: Any) -> c.Finish:
    """What came of one action; `more` are fields of its Outcome."""
    return c.Finish(outcomes=(Outcome(action_id=action_id, ok=ok, **more),))


type Calls = tuple[ModelCall, ...]
type StoryLine = AnyCommand | SessionEvent | Callable[[Session], AnyCommand]


class Transition(NamedTuple):
    """One event of a session, with the session before and after it. `command`: the one that led to it, if one did."""

    before: Session
    command: AnyCommand | None
    event: SessionEvent
    after: Session

    @property
    def due(self) -> Due:
        return due(self.after)


class Story:
    """A session told in commands. Each is decided and folded as in production, and the result is checked.

    `user` gives the commands of people, the keeper gives expiries and wakes, and the service that the session waits
    for all others. A line of the story is a command, or a function from the session to a command; `apply` takes events,
    too. `apply` works in memory; `commit` appends to `log`, to which others may append meanwhile.
    """

    def __init__(
        self,
        session: Session | str = "s1",
        *,
        log: ReplicatedLog | None = None,
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
    def log(self) -> ReplicatedLog:
        assert self._log, "this story has no log"
        return self._log

    def by(self, command: AnyCommand, user: str = "", usage: Calls = ()) -> CommandMeta:
        """Who gives this command now; its event accounts for these calls."""
        at, number = self._clock(), self.session.version + 1
        if isinstance(command, PersonCommand):
            return CommandMeta(f"user:{user or self.user}", at, f"cmd-{number}")
        if isinstance(command, c.Expire | c.Wake | c.RecordLook):
            return CommandMeta("keeper", at)
        work = self.session.work
        own_id = f"usage-{number}" if isinstance(command, c.RecordUsage) else None
        return CommandMeta(work.service if work else "executor", at, own_id, self._cause, work, usage)

    def apply(self, *lines: StoryLine, user: str = "", usage: Calls = ()) -> Session:
        """The session after these lines, each of which accounts for these calls."""
        for line in lines:
            item = line(self.session) if callable(line) else line
            command = None if isinstance(item, Event) else item
            event = item if isinstance(item, Event) else decide(self.session, item, self.by(item, user, usage))
            self._add(command, event, evolve(self.session, event))
        return self.session

    async def commit(
        self, *lines: AnyCommand | Callable[[Session], AnyCommand], user: str = "", usage: Calls = ()
    ) -> Session:
        """The session after these lines. Each is decided on what the log holds, and appended to it."""
        for line in lines:
            loaded = await self.loaded()
            command = line(loaded.session) if callable(line) else line
            by = self.by(command, user, usage)
            if isinstance(command, PersonCommand):
                by = by._replace(id=uuid4().hex[:12])  # two people may act on the same version
            after, event = await commit(self.log, loaded, command, by)
            self._add(command, event, after.session)
        return self.session

    async def load(self) -> Session:
        """The session as the log has it, with what others appended."""
        return (await self.loaded()).session

    async def loaded(self) -> SessionAtPosition:
        """The same, with its position."""
        loaded = await InMemoryStore(self.log).load(self.id)
        self.session = loaded.session
        return loaded

    def fork(self, new_id: str, user: str = "") -> "Story":
        """The story of a session that begins as this one is now."""
        child = Story(new_id, log=self._log, user=user or self.user, clock=self._clock)
        command = c.Fork(parent_id=self.id, parent_version=self.session.version, carried=carried(self.session))
        child.apply(command)
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
