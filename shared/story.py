"""Plays a session from commands, for tests, documents and benches.

story = Story("s1", log=InMemoryLog())
await story.commit(c.Say(text="A calculator"), c.DraftPlan(goal="Add", steps=STEPS))
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from parley.events import Due, Event, SessionEvent, dump_event, parse_event
from parley.events.values import ModelCall, Outcome
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import KEEPER, USER_PREFIX
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import SERVICE_OF, SESSION, Session
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.domain.rules.user_commands import UserCommand
from shared.domain.transcript.forks import carry_over
from shared.log import LogUnavailable, ReplicatedLog, SessionAtPosition, commit
from shared.retry import retry_while_unavailable
from shared.testing import InMemoryStore


def finish_action(action_id: str = "1.1", ok: bool = True, **more: Any) -> c.Finish:
    """The outcome of one action; `more` are fields of its Outcome."""
    return c.Finish(outcomes=(Outcome(action_id=action_id, ok=ok, **more),))


ANSWERS = c.AnswerRemark | c.AcceptOffer | c.DraftPlan | c.DraftCode | c.PlanTurn  # they answer a message if one waits

LATE_READS = 60.0  # seconds: on a busy machine a read of the log may come too late
type ModelCalls = tuple[ModelCall, ...]
type StoryLine = AnyCommand | SessionEvent | Callable[[Session], AnyCommand]


class Transition(NamedTuple):
    """One event of a session, with the session before and after it, and the command that led to it, if any."""

    before: Session
    command: AnyCommand | None
    event: SessionEvent
    after: Session

    @property
    def due(self) -> Due:
        return due(self.after)


class Story:
    """A session that is played from commands. Each command is decided and folded as in production, then checked.

    `user` gives users' commands, the keeper expiries, wakes and polls, the due service all others. A line is a command
    or a function from the session to a command; `apply` also takes events. `apply` works in memory; `commit` appends to
    `log`, to which others may append too.
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
        self._cause: str | None = None  # the event that made the current service due

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

    def meta(self, command: AnyCommand, user: str = "", usage: ModelCalls = ()) -> CommandMeta:
        """The meta of this command: who gives it, when, and the calls that its event accounts for."""
        at, number = self._clock(), self.session.version + 1
        if isinstance(command, UserCommand):
            return CommandMeta(f"{USER_PREFIX}{user or self.session.owner or self.user}", at, f"cmd-{number}")
        if isinstance(command, c.Expire | c.Wake | c.RecordPoll):
            return CommandMeta(KEEPER, at)
        work, reply = self.session.work, self.session.reply
        work = reply or work if isinstance(command, ANSWERS) else work or reply
        own_id = f"usage-{number}" if isinstance(command, c.RecordUsage) else None
        return CommandMeta(work.service if work else "executor", at, own_id, self._cause, work, usage)

    def apply(self, *lines: StoryLine, user: str = "", usage: ModelCalls = ()) -> Session:
        """The session after these lines. Each event accounts for these calls."""
        for line in lines:
            item = line(self.session) if callable(line) else line
            command = None if isinstance(item, Event) else item
            event = item if isinstance(item, Event) else decide(self.session, item, self.meta(item, user, usage))
            self._add(command, event, evolve(self.session, event))
        return self.session

    async def commit(
        self, *lines: AnyCommand | Callable[[Session], AnyCommand], user: str = "", usage: ModelCalls = ()
    ) -> Session:
        """The session after these lines. Each command is decided on the log's state, and its event appended."""
        for line in lines:
            loaded = await self.load_at_position()
            command = line(loaded.session) if callable(line) else line
            meta = self.meta(command, user, usage)
            if isinstance(command, UserCommand):
                meta = meta._replace(id=uuid4().hex[:12])  # two users may act on the same version
            after, event = await commit(self.log, loaded, command, meta)
            self._add(command, event, after.session)
        return self.session

    async def load(self) -> Session:
        """The session as the log has it, including other writers' events."""
        return (await self.load_at_position()).session

    @retry_while_unavailable(LogUnavailable, timeout=LATE_READS)
    async def load_at_position(self) -> SessionAtPosition:
        """The session as the log has it, with its position."""
        loaded = await InMemoryStore(self.log).load(self.id)
        self.session = loaded.session
        return loaded

    def fork(self, new_id: str, user: str = "") -> "Story":
        """The story of a fork of this session."""
        child = Story(new_id, log=self._log, user=user or self.user, clock=self._clock)
        command = c.Fork(parent_id=self.id, parent_version=self.session.version, carried=carry_over(self.session))
        child.apply(command)
        return child

    def _add(self, command: AnyCommand | None, event: SessionEvent, after: Session) -> None:
        check_invariants(after, event)
        self.transitions.append(Transition(self.session, command, event, after))
        self.session = after
        if any(work.version == after.version for work in after.works):
            self._cause = event.id


def check_invariants(after: Session, event: SessionEvent) -> None:
    """Asserts the invariants that hold after every event."""
    assert after.version == event.version
    assert SESSION.validate_json(SESSION.dump_json(after)) == after
    assert parse_event(dump_event(event)) == event
    assert sum(work.version == after.version for work in after.works) <= 1
    assert after.work is None or SERVICE_OF.get(after.phase) == after.work.service
    assert after.question is None or after.phase == "awaiting_input"
    assert (after.failure is not None) == (after.phase == "failed")
