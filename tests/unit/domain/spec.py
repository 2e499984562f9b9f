"""given(what happened).when(a command).then(the event it makes) or .refused(why): how the domain's tests are told.

What happened is told in commands: a person's by "user:ann", a worker's on the work that the session holds at that
moment. Where a command names a version, it is a function of the session that it is given to (`approve`, `edit`, …).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import pytest

from parley.events import SessionEvent
from parley.events.values import (
    ActionAttempt,
    ActionSpec,
    Check,
    Knowledge,
    ModelCall,
    SessionSettings,
    Status,
    Step,
    SubGoalVerdict,
    Workflow,
)
from shared.domain import commands as c
from shared.domain.commands import CommandMeta, Work
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import Refused
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.domain.state import Code, Plan
from shared.domain.sub_goals import of_turn
from shared.domain.waves import ready
from shared.domain.wording import BUDGET_OPTIONS, UNCERTAIN_OPTIONS
from shared.story import Story, finish
from shared.story import StoryLine as StoryLine
from shared.story import check as check

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ANN = "user:ann"
HAPPENED, AGAIN, LEAVE = (option.label for option in UNCERTAIN_OPTIONS)
RAISE, GIVE_UP = (option.label for option in BUDGET_OPTIONS)


def by(session: Session, command: AnyCommand, actor: str = "", **named: Any) -> CommandMeta:
    """Who gives this command by default: Ann, the keeper, or the service whose work it is."""
    default = story(session).by(command)
    return default._replace(**({"actor": actor or default.actor, "id": None} | named))


def story(begin: Session | None = None) -> Story:
    return Story(begin or "s1", clock=lambda: NOON)


@dataclass(frozen=True)
class Given:
    session: Session

    def when(self, told: Callable[[Session], AnyCommand] | AnyCommand, actor: str = "", **named: Any) -> "When":
        command = told(self.session) if callable(told) else told
        return When(self.session, command, by(self.session, command, actor, **named))


@dataclass(frozen=True)
class When:
    before: Session
    command: AnyCommand
    by: CommandMeta

    def then_event(self) -> SessionEvent:
        return decide(self.before, self.command, self.by)

    def then(self, kind: str, /, **fields: Any) -> "Then":
        """The event is of this type and has these fields."""
        event = decide(self.before, self.command, self.by)
        after = evolve(self.before, event)
        check(after, event)
        assert event.type == kind
        assert {name: getattr(event, name) for name in fields} == fields
        return Then(after, event)

    def refused(self, why: type[Refused], text: str = "") -> None:
        """The command is refused for this reason, in words that contain `text`."""
        with pytest.raises(Refused) as refusal:
            decide(self.before, self.command, self.by)
        assert refusal.type is why, refusal.value
        assert text in str(refusal.value)


@dataclass(frozen=True)
class Then:
    session: Session
    event: SessionEvent

    def leaves(self, phase: str, whose: str, **state: Any) -> Self:
        """The session is now in this phase, this one is due, and its fields (or its parts') have these values."""
        assert (self.session.phase, due(self.session)) == (phase, whose)
        assert {name: field(self.session, name) for name in state} == state
        return self

    @property
    def given(self) -> Given:
        """What came of it, as the beginning of the next sentence."""
        return Given(self.session)


def field(session: Session, name: str) -> object:
    """This field of the session, or of the first of its parts that has one of that name."""
    parts = (session, session.words, session.next_draft, session.counts, session.answer)
    return next(getattr(part, name) for part in parts if hasattr(part, name))


def given(*lines: StoryLine, begin: Session | None = None) -> Given:
    return Given(story(begin).apply(*lines))


# --- words of the stories


def say(text: str = "write a calculator", **more: Any) -> c.Say:
    return c.Say(text=text, **more)


def request(workflow: Workflow, text: str = "cancel my order", **settings: Any) -> c.Say:
    return c.Say(text=text, workflow=workflow, settings=SessionSettings(**settings))


def feedback(text: str) -> c.Say:
    """Something else is wanted of what is in review."""
    return c.Say(text=text, feedback=True)


def anew(text: str) -> Callable[[Session], c.Say]:
    """A request at rest: with settings of its own it cannot be a remark."""

    def told(session: Session) -> c.Say:
        other = session.settings.model_copy(update={"recall": not session.settings.recall})
        return c.Say(text=text, settings=other)

    return told


def draft(*steps: str, goal: str = "a calculator", **more: Any) -> c.DraftPlan:
    return c.DraftPlan(goal=goal, steps=tuple(Step(text=text) for text in steps or ("add",)), **more)


def program(code: str = "print(1)") -> c.DraftCode:
    return c.DraftCode(code=code)


def checked(ok: bool = True) -> c.VerifyCode:
    return c.VerifyCode(checks=(Check(name="tests", ok=ok, detail="" if ok else "1 failed"),), tests="assert 1")


def reviewed(session: Session) -> Plan | Code:
    """Code in review, or else the plan."""
    item = session.code if session.code and session.code.status == "review" else session.plan
    assert item is not None
    return item


def approve(session: Session) -> c.Approve:
    return c.Approve(version=reviewed(session).version, hash=reviewed(session).hash)


def approve_later(session: Session) -> c.Approve:
    """Approve the plan, to be started later."""
    return approve(session).model_copy(update={"start": False})


def reject(session: Session) -> c.Reject:
    return c.Reject(version=reviewed(session).version)


def edit(*steps: str) -> Callable[[Session], c.EditPlan]:
    def told(session: Session) -> c.EditPlan:
        assert session.plan is not None
        return c.EditPlan(base=session.plan.version, steps=tuple(Step(text=text) for text in steps))

    return told


def edit_code(code: str) -> Callable[[Session], c.EditCode]:
    def told(session: Session) -> c.EditCode:
        assert session.code is not None
        return c.EditCode(base=session.code.version, code=code)

    return told


def allow(action_id: str) -> Callable[[Session], c.Approve]:
    """Approve one action as it is shown now."""

    def told(session: Session) -> c.Approve:
        assert session.turn is not None
        action = next(a for a in session.turn.actions if a.spec.id == action_id)
        return c.Approve(version=session.version, action_id=action_id, hash=action.hash)

    return told


def act(
    id_: str,
    *after: str,
    ask: str | None = None,
    effect: str = "read",
    arguments: dict[str, Any] | None = None,
    **more: Any,
) -> ActionSpec:
    """An action; `ask` is why a person must allow it. Without `arguments` it is a call like no other."""
    fields = {"id": id_, "tool": "orders", "effect": effect, "depends_on": after, "approval_reason": ask}
    return ActionSpec.model_validate(fields | {"arguments": arguments or {"id": id_}} | more)


def turn(*actions: ActionSpec, nothing: bool = False, **more: Any) -> c.PlanTurn:
    """A turn of these actions (one look at least, unless there is nothing left to do)."""
    chosen = () if nothing else actions or (act("1.1"),)
    why = "Nothing is left to do." if nothing else ""
    return c.PlanTurn(sub_goal="look at the order", actions=chosen, reasoning=why, **more)


def done(action_id: str = "1.1", ok: bool = True) -> c.Finish:
    return finish(action_id=action_id, ok=ok, result={"found": True} if ok else None, error="" if ok else "no")


def verdict(next_action: str = "complete", status: str = "success") -> c.VerifyTurn:
    return c.VerifyTurn.model_validate({"status": status, "next_action": next_action, "reasoning": "seen"})


def with_verdicts(session: Session, command: AnyCommand, number: int) -> AnyCommand:
    """A verdict on a turn with one on each of its sub-goals, if it has several; any other command as it is."""
    if not isinstance(command, c.VerifyTurn) or session.turn is None or len(of_turn(session.turn)) == 1:
        return command
    statuses: tuple[Status, ...] = ("success", "partial", "failure")
    each = (
        SubGoalVerdict(sub_goal=goal, status=statuses[place % 3])
        for place, goal in enumerate(of_turn(session.turn), number)
    )
    return command.model_copy(update={"sub_goals": tuple(each)})


def answer(text: str = "It is done.") -> c.GiveAnswer:
    return c.GiveAnswer(text=text, confidence=0.9, evidence=("1.1",))


def spend(tokens: int = 10, cost: float = 0.5, **more: Any) -> c.RecordUsage:
    fields = {"model": "m", "role": "planner", "prompt_tokens": tokens, "cached_tokens": 0, "completion_tokens": tokens}
    call = ModelCall.model_validate(fields | {"cost": cost, "latency": 0.1, "attempt": 1} | more)
    return c.RecordUsage(calls=(call,))


def runs(*ids: str) -> tuple[ActionAttempt, ...]:
    """Their first attempts."""
    return tuple(ActionAttempt(action_id=one) for one in ids)


def waves(session: Session) -> tuple[str, ...]:
    """The ids of the wave that is ready."""
    return tuple(action.spec.id for action in ready(session.turn))


def status(session: Session, action_id: str) -> str:
    actions = (*(session.turn.actions if session.turn else ()), *session.left_running)
    return next(action.status for action in actions if action.spec.id == action_id)


RUN_CODE = (c.Run(), c.Start(), done("1.1"))
TO_PLAN = (say(), draft())
TO_CODE = (*TO_PLAN, approve, program(), checked())
TO_DONE = (*TO_CODE, approve)
NOTES = Knowledge(name="notes.txt", text="tax is 19 %")
OLD_WORK = Work(service="planner", version=1)
CODING = (*TO_PLAN, approve)
CHECKING = (*CODING, program())
EXECUTING = (request("agentflow"), turn())
STARTED = (*EXECUTING, c.Start())
VERIFYING = (*STARTED, done())
ANSWERING = (*VERIFYING, verdict())
ESCALATED = (*VERIFYING, verdict("escalate"))
ASKED = (say(), c.Ask(text="floats?"))
TO_ALLOW = (request("agentflow"), turn(act("1.1", ask="a write")))
AT_WORK = [
    ((say(),), "planning", "planner"),
    (CODING, "coding", "generator"),
    (CHECKING, "verifying", "verifier"),
    (EXECUTING, "executing", "executor"),
    (VERIFYING, "verifying", "verifier"),
    (ANSWERING, "answering", "generator"),
]
