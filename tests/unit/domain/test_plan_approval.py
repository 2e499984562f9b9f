"""What the approval of a plan covers: preapproved steps, an approval by the settings, one that starts nothing yet."""

from typing import Any

import pytest

from parley.events import dump_event, facts, parse_event
from parley.events.values import ActionSpec, Step, ToolRule
from shared.domain import commands as c
from shared.domain.admissible import admit
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide
from shared.domain.errors import AlreadyDone, Invalid, OutOfTurn, Refused
from shared.domain.for_each import expanded
from shared.domain.forks import carried
from shared.domain.plan_approval import begins_by_setting, covered
from shared.domain.plan_steps import held_up, task_status, unfinished, unresolved
from shared.domain.session import Session, undecided
from shared.domain.state_names import state_name
from shared.domain.waves import ready
from shared.story import finish
from tests.unit.domain.spec import (
    ANN,
    NOON,
    StoryLine,
    allow,
    approve,
    approve_later,
    draft,
    feedback,
    given,
    program,
    request,
    say,
    turn,
    verdict,
)

LOOK = Step(text="Look the order up", tool="get_order", id="s1", effect="read", arguments={"order": "#W1"})
CANCEL = Step(text="Cancel it", tool="cancel", id="s2", effect="write", arguments={"order": "#W1"}, after=("s1",))
PAY = Step(text="Pay it back", tool="pay", id="s3", effect="write", arguments={"sum": "{{steps.s1.output.price}}"})
BURN = PAY.model_copy(update={"id": "s4", "tool": "burn", "effect": "irreversible"})
EACH = Step(
    text="Cancel each",
    tool="cancel",
    id="s5",
    effect="write",
    arguments={"order": "{{item}}"},
    for_each="{{steps.s1.output.orders}}",
)
READ = Step(text="Read it", tool="read", id="s6", effect="read", arguments={"of": "{{steps.s1.output.price}}"})
DRAFTED = (request("execution_plan"),)
BY_SETTING = (request("execution_plan", require_plan_approval=False),)


def told(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def plan(*steps: Step) -> c.DraftPlan:
    return c.DraftPlan(goal="Cancel it", steps=steps, kind="execution")


def ended(step: str, *, ok: bool = True) -> c.Finish:
    return finish(action_id=f"t2.{step}", ok=ok, result={"price": 20, "orders": ["#1", "#2"]})


def preapprove(*steps: str) -> Any:
    return lambda session: approve(session).model_copy(update={"preapprove": steps})


def resolve(session: Session) -> c.ChangeTurn:
    """What the executor does for the wave that is ready."""
    specs = [action.spec for action in ready(session.turn) if unresolved(session, action.spec)]
    resolved: list[ActionSpec] = []
    for spec in specs:
        if spec.id == "t2.s5":
            resolved += expanded(spec, [{"order": "#1"}, {"order": "#2"}])
        else:
            resolved.append(spec.model_copy(update={"arguments": dict.fromkeys(spec.arguments, 20)}))
    return c.ChangeTurn(actions=tuple(resolved))


def asked(session: Session) -> list[str]:
    return [action.spec.id for action in undecided(session.turn)]


# --- preapproved steps


def test_a_preapproved_step_is_not_asked_about_when_its_values_are_known() -> None:
    begun = (*DRAFTED, plan(LOOK, PAY, EACH), preapprove("s5", "s3"), c.Start(), ended("s1"), resolve)
    session = told(*begun)
    assert (session.phase, asked(session)) == ("executing", [])
    assert session.turn
    assert [a.spec.id for a in ready(session.turn)] == ["t2.s3", "t2.s5[0]", "t2.s5[1]"]
    assert session.plan
    assert session.plan.preapproved == ("s3", "s5"), "in the plan's order"


def test_what_was_not_preapproved_is_asked_about_beside_it() -> None:
    begun = (*DRAFTED, plan(LOOK, PAY, EACH), preapprove("s3"), c.Start(), ended("s1"), resolve)
    assert asked(told(*begun)) == ["t2.s5[0]", "t2.s5[1]"]


def test_the_event_records_it_and_an_older_release_may_not_overlook_it() -> None:
    shown = given(*DRAFTED, plan(LOOK, PAY))
    shown.when(preapprove("s3")).then("plan.approved", preapproved=("s3",), deferred=False, needs=2)
    plain = shown.when(approve).then("plan.approved", preapproved=(), needs=1)
    assert b"preapproved" not in dump_event(plain.event)
    assert b"deferred" not in dump_event(plain.event)


def test_a_preapproved_step_whose_tool_does_more_by_then_is_asked_about() -> None:
    begun = (*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Start(), ended("s1"), resolve)
    stricter = c.Start(tools={"pay": ToolRule(effect="irreversible")})
    session = told(*begun, stricter)
    assert (session.phase, asked(session)) == ("awaiting_approval", ["t2.s3"])
    denied = told(*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Remember(tool="pay", policy="deny"), c.Start())
    assert told(ended("s1"), resolve, begin=denied).turn.actions[1].status == "denied"  # type: ignore[union-attr]


def test_a_preapproved_step_that_failed_is_tried_again_without_asking() -> None:
    begun = (*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Start(), ended("s1"), resolve, c.Start())
    failed = (*begun, ended("s3", ok=False), verdict("complete", "failure"), c.GiveAnswer(text="No.", confidence=0))
    again = told(*failed, c.Retry(), resolve)
    assert (again.phase, asked(again)) == ("executing", [])


def test_nothing_is_covered_but_the_steps_own_call_of_an_approved_plan() -> None:
    call = ActionSpec(id="t2.s2", tool="cancel", effect="write", arguments={"order": "#W1"})
    approved = told(*DRAFTED, plan(LOOK, CANCEL), approve)
    assert covered(approved, CANCEL, call)
    assert not covered(approved, CANCEL, call.model_copy(update={"tool": "delete"}))
    assert not covered(approved, CANCEL, call.model_copy(update={"arguments": {"order": "#W2"}}))
    assert not covered(told(*DRAFTED, plan(LOOK, CANCEL)), CANCEL, call)


def test_another_version_of_the_plan_is_preapproved_anew() -> None:
    begun = (*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Start(), ended("s1"), c.Stop())
    edited = told(*begun, c.EditPlan(base=2, steps=(LOOK, PAY, CANCEL)))
    assert edited.plan
    assert edited.plan.preapproved == ()
    assert asked(told(approve, resolve, begin=edited)) == ["t2.s3"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("s9", "“s9” is no step of this plan"),
        ("s1", "Step 1 (s1) changes nothing"),
        ("s2", "Step 2 (s2) has no references"),
        ("s4", "Step 4 (s4) cannot be undone"),
        ("s6", "Step 5 (s6) changes nothing"),
    ],
)
def test_what_cannot_be_preapproved_is_refused_in_words(step: str, why: str) -> None:
    shown = given(*DRAFTED, plan(LOOK, CANCEL, PAY, BURN, READ))
    shown.when(preapprove("s3", step)).refused(Invalid, why)
    with pytest.raises(Invalid) as refused:
        decide(shown.session, preapprove(step)(shown.session), CommandMeta(ANN, NOON))
    assert refused.value.steps.keys() == ({""} if step == "s9" else {step})
    forged = told(*DRAFTED, plan(LOOK, CANCEL, PAY, BURN, READ))
    event = decide(forged, preapprove("s3")(forged), CommandMeta(ANN, NOON))
    other = event.model_copy(update={"preapproved": (step,)})
    assert why in admit(forged, other)[1]


def test_only_a_plan_that_acts_has_steps_to_preapprove_or_a_start_to_put_off() -> None:
    code = (say(), draft(), approve, program(), c.VerifyCode(checks=()))
    action = (request("agentflow", approval="always"), turn())
    for lines in ((say(), draft()), code):
        given(*lines).when(preapprove("s1")).refused(Invalid, "Only the approval of a plan that acts")
        given(*lines).when(approve_later).refused(Invalid, "Only the approval of a plan that acts")
    later = lambda session: allow("1.1")(session).model_copy(update={"start": False})  # noqa: E731
    given(*action).when(later).refused(Invalid, "Only the approval of a plan that acts")
    text = told(say(), draft())
    forged = decide(text, approve(text), CommandMeta(ANN, NOON)).model_copy(update={"deferred": True})
    assert "only a plan that acts" in admit(text, forged)[1]


# --- by the settings


def test_a_plan_that_the_settings_approve_begins_and_each_change_asks_by_its_own_policy() -> None:
    drafted = told(*BY_SETTING, plan(LOOK, CANCEL, PAY))
    assert (drafted.phase, drafted.work and drafted.work.service) == ("planning", "planner")
    assert begins_by_setting(drafted)
    begins = given(begin=drafted).when(c.BeginPlan()).then("turn.planned", plan_version=2, needs=2, turn=1)
    begins.leaves("executing", "executor")
    session = begins.session
    assert session.plan
    assert (session.plan.status, session.plan.approved_by_setting) == ("executing", True)
    looked = told(c.Start(), ended("s1"), begin=session)
    assert (looked.phase, asked(looked)) == ("awaiting_approval", ["t2.s2"])
    allowed = told(allow("t2.s2"), resolve, begin=looked)
    assert asked(allowed) == ["t2.s3"], "with its values"


def test_the_tools_own_policies_hold_where_the_settings_approve() -> None:
    free = CANCEL.model_copy(update={"policy": "never"})
    assert asked(told(*BY_SETTING, plan(LOOK, free), c.BeginPlan(), c.Start(), ended("s1"))) == []
    careful = (request("execution_plan", require_plan_approval=False, approval="always"), plan(LOOK, READ, EACH))
    begun = told(*careful, c.BeginPlan())
    assert asked(begun) == ["t2.s1"], "what has references is asked about when its values are known"
    resolved = told(allow("t2.s1"), c.Start(), ended("s1"), resolve, begin=begun)
    assert asked(resolved) == ["t2.s6", "t2.s5[0]", "t2.s5[1]"]
    waits = Step(text="Ask", tool="ask_person", id="s7", effect="read", waits_for="person")
    assert asked(told(*careful[:1], plan(waits), c.BeginPlan())) == [], "what waits is no call"


def test_a_version_that_a_person_makes_begins_by_the_settings_too() -> None:
    begun = (*BY_SETTING, plan(LOOK), c.BeginPlan(), c.Start(), ended("s1"), c.Stop())
    edited = told(*begun, c.EditPlan(base=2, steps=(LOOK, CANCEL)))
    assert begins_by_setting(edited)
    again = given(begin=edited).when(c.BeginPlan()).then("turn.planned", already_done=("t2.s1",))
    assert (again.session.phase, asked(again.session)) == ("awaiting_approval", ["t2.s2"])


def test_a_version_waits_for_a_person_while_a_step_of_the_plan_still_runs() -> None:
    begun = (*BY_SETTING, plan(LOOK, CANCEL), c.BeginPlan(), c.Start(), ended("s1"), allow("t2.s2"), c.Start())
    waits = told(*begun, c.Stop(), c.EditPlan(base=2, steps=(LOOK, CANCEL, PAY)))
    assert waits.phase == "awaiting_approval"
    given(begin=waits).when(approve).refused(OutOfTurn, "A step of the plan is still running")
    assert told(ended("s2"), approve, begin=waits).phase == "executing"


def test_what_is_said_of_the_plan_comes_before_its_beginning() -> None:
    for lines in ((say("hurry"),), (c.Stop(), say("why?")), (c.Stop(), c.Reject(replan=True))):
        session = told(*BY_SETTING, *(plan(LOOK),), *lines) if lines[0] != say("hurry") else told(*BY_SETTING, *lines)
        if lines[0] == say("hurry"):
            session = told(plan(LOOK), begin=session)
        assert session.phase == "planning"
        given(begin=session).when(c.BeginPlan()).refused(OutOfTurn, "No plan begins by the settings now")
    stopped = told(*BY_SETTING, plan(LOOK), c.Stop(), c.Retry())
    assert begins_by_setting(stopped)


def test_only_what_the_settings_approve_begins_without_a_person() -> None:
    given(*DRAFTED, plan(LOOK)).when(c.BeginPlan()).refused(OutOfTurn)
    given(*DRAFTED).when(c.BeginPlan()).refused(OutOfTurn, "No plan begins by the settings now")
    drafted = told(*BY_SETTING, plan(LOOK, CANCEL))
    event = decide(drafted, c.BeginPlan(), CommandMeta("planner", NOON, work=drafted.work))
    assert isinstance(event, facts.TurnPlanned)
    stored = parse_event(dump_event(event))
    assert admit(drafted, stored)[1] == ""
    for change, why in (
        ({"plan_version": 1}, "does not begin by the session's settings"),
        ({"plan_version": None}, "no turn but that of its steps"),
        ({"actions": event.actions[:1]}, "not the steps of plan 2"),
        ({"turn": 2}, "its turn is 2"),
        ({"already_done": ("t2.s1",)}, "what it counts as done"),
        ({"actor": "executor"}, "but planner is due"),
    ):
        assert why in admit(drafted, stored.model_copy(update=change))[1]
    asks = told(*DRAFTED)
    forged = stored.model_copy(update={"id": f"s1:{asks.version}:turn.planned", "version": 2})
    assert "does not begin by the session's settings" in admit(asks, forged)[1]
    given(*BY_SETTING).when(turn()).refused(OutOfTurn)


def test_a_person_cannot_give_an_approval_that_nobody_waits_for() -> None:
    begun = given(*BY_SETTING, plan(LOOK), c.BeginPlan())
    begun.when(approve).refused(AlreadyDone)
    given(*BY_SETTING, plan(LOOK)).when(approve).refused(OutOfTurn, "no plan or code in review")


def test_a_fork_of_it_waits_for_a_person_all_the_same() -> None:
    parent = told(*BY_SETTING, plan(LOOK, CANCEL), c.BeginPlan(), c.Start(), ended("s1"), c.Stop())
    event = decide(
        Session("s2"), c.Fork(parent_id="s1", parent_version=1, carried=carried(parent)), CommandMeta(ANN, NOON)
    )
    fork, wrong = admit(Session("s2"), event)
    assert (wrong, fork.phase) == ("", "awaiting_approval")
    assert asked(told(approve, begin=fork)) == []


def test_a_failed_step_is_retried_under_its_own_policy() -> None:
    begun = (*BY_SETTING, plan(LOOK, CANCEL), c.BeginPlan(), c.Start(), ended("s1"), allow("t2.s2"), c.Start())
    failed = (*begun, ended("s2", ok=False), verdict("complete", "failure"), c.GiveAnswer(text="No.", confidence=0))
    again = told(*failed, c.Retry(), c.Start())
    assert (again.phase, asked(again)) == ("awaiting_approval", ["t2.s2"])


# --- approved, and not started


def test_a_plan_is_approved_now_and_started_later() -> None:
    later = given(*DRAFTED, plan(LOOK, CANCEL)).when(approve_later).then("plan.approved", deferred=True, needs=2)
    later.leaves("resting", "nobody", rest_reason="approved")
    session = later.session
    assert (task_status(session), state_name(session)) == ("approved", "approved")
    assert unfinished(session)
    assert held_up(session)
    started = later.given.when(c.Retry()).then("session.retried").leaves("executing", "executor").session
    assert (task_status(started), [a.spec.id for a in ready(started.turn)]) == ("executing", ["t2.s1"])
    done = told(c.Start(), ended("s1"), c.Start(), ended("s2"), begin=started)
    assert done.phase == "verifying"


def test_what_is_approved_later_again_says_how_to_start_it() -> None:
    waits = given(*DRAFTED, plan(LOOK), approve_later)
    waits.when(approve).refused(AlreadyDone, "It has not been started: start it.")
    with pytest.raises(AlreadyDone) as again:
        decide(waits.session, approve_later(waits.session), CommandMeta(ANN, NOON))
    assert "start it" not in str(again.value)


def test_a_plan_that_is_not_started_can_be_changed_discarded_or_talked_about() -> None:
    waits = (*DRAFTED, plan(LOOK, CANCEL), approve_later)
    edited = told(*waits, c.EditPlan(base=2, steps=(LOOK,)))
    assert (edited.phase, task_status(edited)) == ("awaiting_approval", "pending_approval")
    assert task_status(told(*waits, c.CancelPlan())) == "cancelled"
    given(*waits).when(c.Stop()).refused(OutOfTurn)
    said = told(*waits, say("also look at #W2"))
    assert (said.phase, said.task) == ("planning", "t2")
    answered = told(c.AnswerRemark(text="Yes."), begin=said)
    assert (answered.phase, answered.rest_reason, task_status(answered)) == ("resting", "approved", "approved")
    left_out = told(*waits, c.Skip(action_id="t2.s2"))
    assert (left_out.phase, task_status(left_out)) == ("resting", "approved")
    with pytest.raises(Refused):
        told(*waits, feedback("x"), c.BeginPlan())
