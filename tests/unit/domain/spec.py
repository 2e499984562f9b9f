"""Helpers for domain tests: `given(commands).when(command).then(event)` or `.refused(reason)`.

`given` executes its commands: a user's as "user:ann", a service's for the session's current work. A command that names
a version is a function of the session (`approve`, `edit`, …).
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
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta, Work
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Code, Plan
from shared.domain.kernel.wording import BUDGET_OPTIONS, UNCERTAIN_OPTIONS
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.domain.transcript.sub_goals import actions_by_sub_goal
from shared.domain.turn.batches import next_batch
from shared.story import Story, finish_action
from shared.story import StoryLine as StoryLine
from shared.story import check_invariants as check_invariants

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ANN = "user:ann"
HAPPENED, AGAIN, LEAVE = (option.label for option in UNCERTAIN_OPTIONS)
RAISE, GIVE_UP = (option.label for option in BUDGET_OPTIONS)


def command_meta(session: Session, command: AnyCommand, actor: str = "", **named: Any) -> CommandMeta:
    """The default meta of the command: its actor is Ann, the keeper, or the service that is due."""
    default = story(session).meta(command)
    return default._replace(**({"actor": actor or default.actor, "id": None} | named))


def story(begin: Session | None = None) -> Story:
    return Story(begin or "s1", clock=lambda: NOON)


@dataclass(frozen=True)
class Given:
    session: Session

    def when(
        self, command_or_factory: Callable[[Session], AnyCommand] | AnyCommand, actor: str = "", **named: Any
    ) -> "When":
        command = command_or_factory(self.session) if callable(command_or_factory) else command_or_factory
        return When(self.session, command, command_meta(self.session, command, actor, **named))


@dataclass(frozen=True)
class When:
    before: Session
    command: AnyCommand
    meta: CommandMeta

    def then_event(self) -> SessionEvent:
        return decide(self.before, self.command, self.meta)

    def then(self, kind: str, /, **fields: Any) -> "Then":
        """Asserts that the event has this type and these fields."""
        event = decide(self.before, self.command, self.meta)
        after = evolve(self.before, event)
        check_invariants(after, event)
        assert event.type == kind
        assert {name: getattr(event, name) for name in fields} == fields
        return Then(after, event)

    def refused(self, why: type[CommandRefused], text: str = "") -> None:
        """Asserts that the command is refused with this error and a message that contains `text`."""
        with pytest.raises(CommandRefused) as refusal:
            decide(self.before, self.command, self.meta)
        assert refusal.type is why, refusal.value
        assert text in str(refusal.value)


@dataclass(frozen=True)
class Then:
    session: Session
    event: SessionEvent

    def leaves(self, phase: str, due_service: str, **state: Any) -> Self:
        """Asserts the session's phase, the service that is due, and the values of its fields (or of its parts').

        `unread` names the texts of the unread messages.
        """
        assert (self.session.phase, due(self.session)) == (phase, due_service)
        assert {name: field_of(self.session, name) for name in state} == state
        return self

    @property
    def given(self) -> Given:
        """The resulting session, as the start of the next chain."""
        return Given(self.session)


def field_of(session: Session, name: str) -> object:
    """This field of the session, or of the first of its parts that has a field of that name."""
    if name == "unread":
        return unread(session)
    parts = (session, session.words, session.next_draft, session.counts, session.answer)
    return next(getattr(part, name) for part in parts if hasattr(part, name))


def given(*lines: StoryLine, begin: Session | None = None) -> Given:
    return Given(story(begin).apply(*lines))


# --- commands and actions


def say(text: str = "write a calculator", **more: Any) -> c.Say:
    return c.Say(text=text, **more)


def request(workflow: Workflow, text: str = "cancel my order", **settings: Any) -> c.Say:
    return c.Say(text=text, workflow=workflow, settings=SessionSettings(**settings))


def feedback(text: str) -> c.Say:
    """A message that asks for another version of the plan or code in review."""
    return c.Say(text=text, feedback=True)


def new_request(text: str) -> Callable[[Session], c.Say]:
    """A new request at rest: its changed settings keep it from being a remark."""

    def command(session: Session) -> c.Say:
        other = session.settings.model_copy(update={"recall": not session.settings.recall})
        return c.Say(text=text, settings=other)

    return command


def draft(*steps: str, goal: str = "a calculator", **more: Any) -> c.DraftPlan:
    return c.DraftPlan(goal=goal, steps=tuple(Step(text=text) for text in steps or ("add",)), **more)


def program(code: str = "print(1)") -> c.DraftCode:
    return c.DraftCode(code=code)


def checked(ok: bool = True) -> c.VerifyCode:
    return c.VerifyCode(checks=(Check(name="tests", ok=ok, detail="" if ok else "1 failed"),), tests="assert 1")


def reviewed(session: Session) -> Plan | Code:
    """The code in review, or else the plan."""
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
    def command(session: Session) -> c.EditPlan:
        assert session.plan is not None
        return c.EditPlan(base=session.plan.version, steps=tuple(Step(text=text) for text in steps))

    return command


def edit_code(code: str) -> Callable[[Session], c.EditCode]:
    def command(session: Session) -> c.EditCode:
        assert session.code is not None
        return c.EditCode(base=session.code.version, code=code)

    return command


def allow(action_id: str) -> Callable[[Session], c.Approve]:
    """Approve one action with its current arguments."""

    def command(session: Session) -> c.Approve:
        assert session.turn is not None
        action = next(a for a in session.turn.actions if a.spec.id == action_id)
        return c.Approve(version=session.version, action_id=action_id, hash=action.hash)

    return command


def act(
    id_: str,
    *after: str,
    ask: str | None = None,
    effect: str = "read",
    arguments: dict[str, Any] | None = None,
    **more: Any,
) -> ActionSpec:
    """An action; `ask` is its approval reason. Without `arguments` the call is unique."""
    fields = {"id": id_, "tool": "orders", "effect": effect, "depends_on": after, "approval_reason": ask}
    return ActionSpec.model_validate(fields | {"arguments": arguments or {"id": id_}} | more)


def turn(*actions: ActionSpec, nothing: bool = False, **more: Any) -> c.PlanTurn:
    """A turn of these actions; at least one read, unless `nothing` is left to do."""
    chosen = () if nothing else actions or (act("1.1"),)
    why = "Nothing is left to do." if nothing else ""
    return c.PlanTurn(sub_goal="look at the order", actions=chosen, reasoning=why, **more)


def done(action_id: str = "1.1", ok: bool = True) -> c.Finish:
    return finish_action(action_id=action_id, ok=ok, result={"found": True} if ok else None, error="" if ok else "no")


def verdict(next_action: str = "complete", status: str = "success") -> c.VerifyTurn:
    return c.VerifyTurn.model_validate({"status": status, "next_action": next_action, "reasoning": "seen"})


def with_verdicts(session: Session, command: AnyCommand, number: int) -> AnyCommand:
    """The command; a verdict on a turn with several sub-goals gets one verdict per sub-goal."""
    if not isinstance(command, c.VerifyTurn) or session.turn is None or len(actions_by_sub_goal(session.turn)) == 1:
        return command
    statuses: tuple[Status, ...] = ("success", "partial", "failure")
    each = (
        SubGoalVerdict(sub_goal=goal, status=statuses[place % 3])
        for place, goal in enumerate(actions_by_sub_goal(session.turn), number)
    )
    return command.model_copy(update={"sub_goals": tuple(each)})


def answer(text: str = "It is done.") -> c.GiveAnswer:
    return c.GiveAnswer(text=text, confidence=0.9, evidence=("1.1",))


def spend(tokens: int = 10, cost: float = 0.5, **more: Any) -> c.RecordUsage:
    fields = {"model": "m", "role": "planner", "prompt_tokens": tokens, "cached_tokens": 0, "completion_tokens": tokens}
    call = ModelCall.model_validate(fields | {"cost": cost, "latency": 0.1, "attempt": 1} | more)
    return c.RecordUsage(calls=(call,))


def first_attempts(*ids: str) -> tuple[ActionAttempt, ...]:
    """The first attempts of these actions."""
    return tuple(ActionAttempt(action_id=action_id) for action_id in ids)


def next_batch_ids(session: Session) -> tuple[str, ...]:
    """The ids of the next batch."""
    return tuple(action.spec.id for action in next_batch(session.turn))


def unread(session: Session) -> tuple[str, ...]:
    """The messages that no draft or reply has taken in."""
    return tuple(message.text for message in session.words.unread)


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
