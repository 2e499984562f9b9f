"""Which phases each event can lead to: a breadth-first search over the domain that tries every command in every state.

States that differ only in texts and numbers count as one.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import NamedTuple, get_args

from parley.events import Due, SessionEvent
from parley.events.values import ActionSpec, Check, NextAction, PathPlan, SessionSettings, Step, ToolRule, Waiting
from scripts.gen_story import BEGAN, CODE, PASSED_CHECKS, STEPS, STORED_RESULT, USAGE, stories
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Phase, Session, review_target
from shared.domain.kernel.state_names import rest_reason
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.domain.rules.user_commands import UserCommand
from shared.domain.rules.worker_commands import WorkerCommand
from shared.domain.steps.plan_steps import is_unresolved
from shared.domain.workflows import WORKFLOWS, owner
from shared.domain.workflows.execution_plan import EXECUTION_PLAN
from shared.domain.workflows.flow import FLOW, path_of
from shared.domain.workflows.phases import edge_for
from shared.story import Transition, finish_action

MAX_STATES = 8_000  # visited at most: execution plans have infinitely many states
OF_TURNS = {
    "approval.given",
    "approval.denied",
    "approval.expired",
    "actions.waiting",
    "action.waited",
    "actions.finished",
    "result.stored",
    "turn.changed",
}
COMMANDS: tuple[type[AnyCommand], ...] = (*get_args(UserCommand), *get_args(WorkerCommand))
SAMPLES: dict[object, object] = {str: "x", int: 1, float: 1.0, bool: True}
VERDICTS: tuple[NextAction, ...] = ("continue", "retry", "escalate", "complete")
PATH = PathPlan(nodes=("look",))
TOOLS = (Step(text="Look", tool="look"),)
CALLS = (
    Step(text="Look", tool="look", id="s1", effect="read"),
    Step(text="Write", tool="write", id="s2", effect="write", arguments={"x": "{{steps.s1.output}}"}),
    Step(text="Ask", tool="ask", id="s3", effect="read", waits_for="person"),
    Step(text="Wait", tool="wait", id="s4", effect="read", waits_for="time"),
)
_LOOK = ActionSpec(id="a", tool="look")
_WRITE = ActionSpec(id="b", tool="write", effect="write", depends_on=("a",))
_ASK = {"depends_on": (), "approval_reason": "it writes"}
TURNS = ((_LOOK, _WRITE), (_LOOK.model_copy(update=_ASK), _WRITE.model_copy(update=_ASK)))
RULES = (ToolRule(effect="write"), ToolRule(effect="write", policy="never"), ToolRule(effect="read", policy="deny"))


class PhaseEdge(NamedTuple):
    """One transition of a workflow from phase to phase. `test` names the edge's condition, "" if it has none."""

    workflow: str
    before: Phase
    kind: str
    test: str
    after: Phase


class Reachability(NamedTuple):
    """By event type. `moved`: the next phase and who is due then. `stayed`: who is due if the phase stays the same."""

    moved: dict[str, set[tuple[Phase, Due]]]
    stayed: dict[str, set[Due]]
    makers: dict[str, set[str]]  # event type -> names of commands
    edges: set[PhaseEdge]
    examples: dict[str, Transition]  # event type -> the first event of it

    def add(self, event: SessionEvent, before: Session, after: Session) -> None:
        kind = event.type
        if before.reply is None:
            self.edges.update(_edges(before, event, after))
        if after.phase == before.phase and due(after) in ("nobody", "user"):
            self.stayed[kind].add(due(after))
        else:
            self.moved[kind].add((after.phase, due(after)))

    def dues(self, kind: str) -> list[Due]:
        """Who can be due after an event of this type."""
        services = {whose for _, whose in self.moved[kind]} | self.stayed[kind]
        return sorted(
            services if services <= {"user", "nobody"} else services | {"nobody"}
        )  # "nobody" is due during a pause


def _edges(before: Session, event: SessionEvent, after: Session) -> Iterator[PhaseEdge]:
    if any(event.type in workflow.after for workflow in WORKFLOWS.values()):
        label = edge_for(before, event).label
        yield PhaseEdge(owner(before, event).name, before.phase, event.type, label, after.phase)
    elif before.turn and event.type in OF_TURNS and after.phase != before.phase:
        yield PhaseEdge(before.turn.workflow, before.phase, event.type, "", after.phase)


def _commands(session: Session) -> Iterator[AnyCommand]:  # an example of each command that fits this session
    plan, code = session.plan, session.code
    actions = session.turn.actions if session.turn else ()
    options = session.question.options if session.question else ()
    spoken = ("word", *(option.label for option in options))
    yield from (c.Say(text=text) for text in spoken)
    for item in (plan, code):
        if item:
            yield from (c.Approve(version=item.version, start=start) for start in (True, False))
            yield c.Reject(version=item.version)
    yield from (c.Reject(replan=True, target=target) for target in ("text", "code"))
    if plan:
        own = (Step(text=f"v{session.version}", tool="look", id="s1"),)
        yield c.EditPlan(base=plan.version, steps=TOOLS if path_of(plan) else own)
    if code:
        yield c.EditCode(base=code.version, code=f"print({session.version})")
    waits = [action.spec.id for action in actions if action.spec.waits_for == "time"]
    yield from (c.Wait(actions=(Waiting(action_id=action_id, until=BEGAN),)) for action_id in waits)
    asks = [action.spec.id for action in actions if action.spec.waits_for == "person"]
    yield from (c.Ask(text="?", about="action", action_id=action_id) for action_id in asks)
    for action in actions[:2]:
        yield c.Approve(version=session.version, action_id=action.spec.id)
        yield c.Reject(action_id=action.spec.id)
        yield c.Skip(action_id=action.spec.id)
        yield finish_action(action_id=action.spec.id, ok=True)
        yield finish_action(action_id=action.spec.id, ok=False)
        yield finish_action(action_id=action.spec.id, ok=True, size=1)
        yield c.StoreResult(action_id=action.spec.id, artefact=STORED_RESULT)
        yield c.LoseResult(action_id=action.spec.id, reason="?")
        yield c.ReportUncertain(action_id=action.spec.id, reason="?")
        yield c.Ask(text="?", about="action", action_id=action.spec.id)
    yield from SIMPLE_COMMANDS
    yield c.Remember(tool="x", policy="never")
    resolved = [a.spec.model_copy(update={"arguments": {"x": 1}}) for a in actions if is_unresolved(session, a.spec)]
    yield c.ChangeTurn(actions=tuple(resolved))
    for specs in TURNS:
        yield c.TakeOver(sub_goal="x", actions=specs)
        yield c.PlanTurn(sub_goal="x", actions=specs)
    yield from (
        c.RaiseBudget(tokens=500),
        c.Share(user="bob", role="viewer"),
        c.ChooseWorkflow(workflow="agentflow"),
    )
    match session.workflow:
        case FLOW.name:
            yield c.DraftPlan(goal="x", steps=TOOLS, kind="path", path=PATH)
        case EXECUTION_PLAN.name:
            yield c.DraftPlan(goal="x", steps=CALLS, kind="execution")
        case _:
            yield c.DraftPlan(goal="x", steps=STEPS)
    yield from (
        c.DraftCode(code=CODE),
        c.VerifyCode(checks=PASSED_CHECKS),
        c.VerifyCode(checks=(Check(name="lints", ok=False),)),
    )
    yield from (c.Ask(text="?"), c.Ask(text="?", about="budget"), USAGE)
    yield from (c.Start(tools={name: rule}) for name in ("look", "write") for rule in RULES)
    for verdict in VERDICTS:
        yield c.VerifyTurn(status="success", next_action=verdict, reasoning="x")
    yield from (
        c.GiveAnswer(text="x", confidence=1),
        c.Fail(reason="x"),
        c.Expire(requested_version=session.since_version),
    )


def _simple_commands() -> Iterator[AnyCommand]:
    """An example of each command whose required fields are only texts and numbers."""
    for command in COMMANDS:
        required = {name: field.annotation for name, field in command.model_fields.items() if field.is_required()}
        if set(required.values()) <= SAMPLES.keys():
            yield command.model_validate({name: SAMPLES[kind] for name, kind in required.items()})


SIMPLE_COMMANDS = tuple(_simple_commands())


def _state_key(session: Session) -> tuple[object, ...]:
    """The parts of a session by which the search distinguishes states, without texts and numbers."""
    turn = tuple((action.status, action.storing) for action in session.turn.actions) if session.turn else ()
    plan, code = session.plan, session.code
    return (
        *(session.workflow, session.phase, rest_reason(session), review_target(session)),
        *(bool(session.reply), bool(session.offer), bool(session.words.unread) and session.reply is None),
        session.settings.require_plan_approval,
        *(plan.status if plan else None, code.status if code else None, turn),
        session.question.about if session.question else None,
    )


def _givers(session: Session, command: AnyCommand) -> list[CommandMeta]:
    """Who may give this command: a user, the keeper, or the services that are due."""
    if isinstance(command, UserCommand):
        return [CommandMeta("user:ann", BEGAN)]
    if isinstance(command, c.Wake) or not session.works:
        return [CommandMeta("keeper", BEGAN)]
    return [CommandMeta(work.service, BEGAN, work=work) for work in session.works]


def _outcome(session: Session, command: AnyCommand, by: CommandMeta) -> tuple[SessionEvent, Session] | None:
    try:
        event = decide(session, command, by)
    except CommandRefused:
        return None
    return event, evolve(session, event)


def _begin(command: AnyCommand) -> tuple[SessionEvent, Session] | None:
    return _outcome(Session("s"), command, *_givers(Session("s"), command))


@cache
def explore() -> Reachability:
    """Search all reachable states. The result is deterministic. Paused sessions are not explored further."""
    reached = Reachability(defaultdict(set), defaultdict(set), defaultdict(set), set(), {})
    settings = SessionSettings(max_turns=2)
    for transition in stories():
        reached.makers[transition.event.type].add(type(transition.command).__name__)
        reached.examples.setdefault(transition.event.type, transition)
        reached.add(transition.event, transition.before, transition.after)
    first_steps = [_begin(c.Say(text="x", workflow=name, settings=settings)) for name in WORKFLOWS]
    at_once = settings.model_copy(update={"require_plan_approval": False})
    first_steps.append(_begin(c.Say(text="x", workflow=EXECUTION_PLAN.name, settings=at_once)))
    waiting = [after for _, after in filter(None, first_steps)]
    by_schedule = _begin(c.BeginFor(owner="ann", via="template/x/y", text="x", workflow="execution_plan"))
    if by_schedule:
        reached.makers["message.received"].add("BeginFor")
        reached.add(by_schedule[0], Session("s"), by_schedule[1])
        first_steps.append(by_schedule)
        waiting.append(by_schedule[1])
    reached.moved["session.forked"].add(("resting", "nobody"))  # a fork of a session without a plan
    visited = {_state_key(session) for session in waiting}
    while waiting and len(visited) < MAX_STATES:
        session = waiting.pop(0)
        # In a paused session nobody is due after any event: only `Resume` is tried from it.
        paused = replace(session, paused=True, work=None)
        tried = ((paused, c.Resume()), *((session, command) for command in _commands(session)))
        given = ((at, what, by) for at, what in tried for by in _givers(at, what))
        for state, command, by in given:
            if (outcome := _outcome(state, command, by)) is None:
                continue
            event, after = outcome
            reached.makers[event.type].add(type(command).__name__)
            reached.examples.setdefault(event.type, Transition(state, command, event, after))
            reached.add(event, state, after)
            if not after.paused and (key := _state_key(after)) not in visited:
                visited.add(key)
                waiting.append(after)
    return reached
