"""What each event can lead to: the domain searched breadth first, every command tried in every kind of state found."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from parley.events import Due, SessionEvent
from parley.events.values import ActionSpec, Check, NextAction, PathPlan, SessionSettings, Step, ToolRule, Waiting
from scripts.gen_story import BEGAN, CODE, GOOD, KEPT, SPEND, STEPS, stories
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import Refused
from shared.domain.evolve import evolve
from shared.domain.people import PersonCommand
from shared.domain.plan_steps import unresolved
from shared.domain.session import Phase, Session, reviewing
from shared.domain.workflows import WORKFLOWS, edge, owner
from shared.domain.workflows.execution_plan import EXECUTION_PLAN
from shared.domain.workflows.flow import FLOW, path_of
from shared.story import finish

MOST = 3_000  # kinds of states looked at: plans that act have kinds without end
OF_TURNS = {
    "approval.given",
    "approval.denied",
    "approval.expired",
    "actions.waiting",
    "actions.woken",
    "action.polled",
    "actions.finished",
    "result.stored",
    "turn.changed",
}
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


class Arrow(NamedTuple):
    """One way of a workflow from phase to phase; `test` names the condition of the edge, "" where it has none."""

    workflow: str
    before: Phase
    kind: str
    test: str
    after: Phase


class Reach(NamedTuple):
    """`after`: the phases and dues an event was followed by; `kept`: those it left a phase as it was in."""

    moved: dict[str, set[tuple[Phase, Due]]]
    kept: dict[str, set[Due]]
    makers: dict[str, set[str]]  # event type -> names of commands
    arrows: set[Arrow]

    def add(self, event: SessionEvent, before: Session, after: Session) -> None:
        kind = event.type
        if before.words.remark is None:
            self.arrows.update(_arrow(before, event, after))
        if after.phase == before.phase and due(after) in ("nobody", "user"):
            self.kept[kind].add(due(after))
        else:
            self.moved[kind].add((after.phase, due(after)))

    def dues(self, kind: str) -> list[Due]:
        """Who can be due by an event of this type."""
        found = {whose for _, whose in self.moved[kind]} | self.kept[kind]
        return sorted(found if found <= {"user", "nobody"} else found | {"nobody"})  # nobody: during a pause


def _arrow(before: Session, event: SessionEvent, after: Session) -> Iterator[Arrow]:
    if any(event.type in one.after for one in WORKFLOWS.values()):
        label = edge(before, event).label
        yield Arrow(owner(before, event).name, before.phase, event.type, label, after.phase)
    elif before.turn and event.type in OF_TURNS and after.phase != before.phase:
        yield Arrow(before.turn.workflow, before.phase, event.type, "", after.phase)


def _commands(session: Session) -> Iterator[AnyCommand]:  # one example of each command, as good as it can be now
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
    yield from (c.Wait(actions=(Waiting(action_id=one, until=BEGAN),)) for one in waits)
    yield c.Wake()
    asks = [action.spec.id for action in actions if action.spec.waits_for == "person"]
    yield from (c.Ask(text="?", about="action", action_id=one) for one in asks)
    for action in actions[:2]:
        yield c.Approve(version=session.version, action_id=action.spec.id)
        yield c.Reject(action_id=action.spec.id)
        yield c.Skip(action_id=action.spec.id)
        yield finish(action_id=action.spec.id, ok=True)
        yield finish(action_id=action.spec.id, ok=False)
        yield finish(action_id=action.spec.id, ok=True, size=1)
        yield c.StoreResult(action_id=action.spec.id, artefact=KEPT)
        yield c.LoseResult(action_id=action.spec.id, reason="?")
        yield c.Uncertain(action_id=action.spec.id, reason="?")
        yield c.Ask(text="?", about="action", action_id=action.spec.id)
    yield from (c.Continue(), c.Run(), c.Complete(), c.Stop(), c.Pause(), c.Resume(), c.Retry(), c.CancelPlan())
    yield from (c.DeletePlan(), c.Remember(tool="x", policy="never"))
    resolved = [a.spec.model_copy(update={"arguments": {"x": 1}}) for a in actions if unresolved(session, a.spec)]
    yield c.ChangeTurn(actions=tuple(resolved))
    for specs in TURNS:
        yield c.TakeOver(sub_goal="x", actions=specs)
        yield c.PlanTurn(sub_goal="x", actions=specs)
    yield from (
        c.RaiseBudget(tokens=500),
        c.Rename(title="x"),
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
    yield from (c.BeginPlan(), c.AnswerRemark(text="x"))
    yield from (
        c.DraftCode(code=CODE),
        c.VerifyCode(checks=GOOD),
        c.VerifyCode(checks=(Check(name="lints", ok=False),)),
    )
    yield from (c.Ask(text="?"), c.Ask(text="?", about="budget"), SPEND)
    yield from (c.Start(), *(c.Start(tools={name: rule}) for name in ("look", "write") for rule in RULES))
    for verdict in VERDICTS:
        yield c.VerifyTurn(status="success", next_action=verdict, reasoning="x")
    yield from (
        c.GiveAnswer(text="x", confidence=1),
        c.Fail(reason="x"),
        c.Expire(requested_version=session.since_version),
    )


def _kind(session: Session) -> tuple[object, ...]:
    """What tells states apart here; texts and numbers do not."""
    turn = tuple((action.status, action.storing) for action in session.turn.actions) if session.turn else ()
    plan, code = session.plan, session.code
    return (
        *(session.workflow, session.phase, session.rest_reason, reviewing(session), bool(session.words.unread)),
        session.settings.require_plan_approval,
        *(plan.status if plan else None, code.status if code else None, turn),
        session.question.about if session.question else None,
    )


def _after(session: Session, command: AnyCommand) -> tuple[SessionEvent, Session] | None:
    if isinstance(command, PersonCommand):
        by = CommandMeta("user:ann", BEGAN)
    elif isinstance(command, c.Wake):
        by = CommandMeta("keeper", BEGAN)
    else:
        by = CommandMeta(session.work.service if session.work else "keeper", BEGAN, work=session.work)
    try:
        event = decide(session, command, by)
    except Refused:
        return None
    return event, evolve(session, event)


def reach() -> Reach:
    """The same code always gives the same answer. A pause, after which nothing is due, is left out."""
    found = Reach(defaultdict(set), defaultdict(set), defaultdict(set), set())
    settings = SessionSettings(max_turns=2)
    for told in stories():
        found.makers[told.event.type].add(type(told.command).__name__)
        found.add(told.event, told.before, told.after)
    begun = [_after(Session("s"), c.Say(text="x", workflow=name, settings=settings)) for name in WORKFLOWS]
    at_once = settings.model_copy(update={"require_plan_approval": False})
    begun.append(_after(Session("s"), c.Say(text="x", workflow=EXECUTION_PLAN.name, settings=at_once)))
    waiting = [after for _, after in filter(None, begun)]
    by_schedule = _after(Session("s"), c.BeginFor(owner="ann", via="template/x/y", text="x", workflow="execution_plan"))
    if by_schedule:
        found.makers["message.received"].add("BeginFor")
        found.add(by_schedule[0], Session("s"), by_schedule[1])
        begun.append(by_schedule)
        waiting.append(by_schedule[1])
    found.moved["session.forked"].add(("resting", "nobody"))  # of a parent without a plan
    seen = {_kind(session) for session in waiting}
    while waiting and len(seen) < MOST:
        session = waiting.pop(0)
        # While a session is paused all that follows is due nobody: that is said once, and not explored.
        held = replace(session, paused=True, work=None)
        for state, command in ((held, c.Resume()), *((session, command) for command in _commands(session))):
            if (outcome := _after(state, command)) is None:
                continue
            event, after = outcome
            found.makers[event.type].add(type(command).__name__)
            found.add(event, state, after)
            if not after.paused and (key := _kind(after)) not in seen:
                seen.add(key)
                waiting.append(after)
    return found
