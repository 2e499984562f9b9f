"""The approval of a plan: preapproved steps, approval by the settings, deferred starts."""

from typing import Any

import pytest

from parley.events import dump_event, facts, parse_event
from parley.events.values import ActionSpec, Step, ToolRule
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import AlreadyDone, CommandRefused, Invalid, OutOfTurn
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.state_names import state_name
from shared.domain.plan.approval import is_covered, starts_by_setting
from shared.domain.rules.admissible import admit
from shared.domain.rules.decide import decide, due
from shared.domain.steps.for_each import expand_items
from shared.domain.steps.plan_steps import is_held_up, is_unfinished, is_unresolved, task_status
from shared.domain.transcript.forks import carry_over
from shared.domain.turn.batches import next_batch
from shared.story import finish_action
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


def session_after(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def plan(*steps: Step) -> c.DraftPlan:
    return c.DraftPlan(goal="Cancel it", steps=steps, kind="execution")


def finish_step(step: str, *, ok: bool = True) -> c.Finish:
    return finish_action(action_id=f"t2.{step}", ok=ok, result={"price": 20, "orders": ["#1", "#2"]})


def preapprove(*steps: str) -> Any:
    return lambda session: approve(session).model_copy(update={"preapprove": steps})


def resolve(session: Session) -> c.ChangeTurn:
    """The command with which the executor fills in the references of the next batch."""
    specs = [action.spec for action in next_batch(session.turn) if is_unresolved(session, action.spec)]
    resolved: list[ActionSpec] = []
    for spec in specs:
        if spec.id == "t2.s5":
            resolved += expand_items(spec, [{"order": "#1"}, {"order": "#2"}])
        else:
            resolved.append(spec.model_copy(update={"arguments": dict.fromkeys(spec.arguments, 20)}))
    return c.ChangeTurn(actions=tuple(resolved))


def undecided_ids(session: Session) -> list[str]:
    return [action.spec.id for action in undecided_actions(session.turn)]


# --- preapproved steps


def test_a_preapproved_step_needs_no_approval_once_its_values_are_known() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY, EACH), preapprove("s5", "s3"), c.Start(), finish_step("s1"), resolve)
    session = session_after(*lines)
    assert (session.phase, undecided_ids(session)) == ("executing", [])
    assert session.turn
    assert [a.spec.id for a in next_batch(session.turn)] == ["t2.s3", "t2.s5[0]", "t2.s5[1]"]
    assert session.plan
    assert session.plan.preapproved == ("s3", "s5"), "in the order of the plan's steps"


def test_other_steps_still_need_approval() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY, EACH), preapprove("s3"), c.Start(), finish_step("s1"), resolve)
    assert undecided_ids(session_after(*lines)) == ["t2.s5[0]", "t2.s5[1]"]


def test_the_event_records_preapprovals_and_older_releases_cannot_ignore_them() -> None:
    in_review = given(*DRAFTED, plan(LOOK, PAY))
    in_review.when(preapprove("s3")).then("plan.approved", preapproved=("s3",), deferred=False)
    plain = in_review.when(approve).then("plan.approved", preapproved=())
    assert b"preapproved" not in dump_event(plain.event)
    assert b"deferred" not in dump_event(plain.event)


def test_a_preapproved_step_needs_approval_if_its_tool_has_a_stronger_effect() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Start(), finish_step("s1"), resolve)
    stricter = c.Start(tools={"pay": ToolRule(effect="irreversible")})
    session = session_after(*lines, stricter)
    assert (session.phase, undecided_ids(session)) == ("awaiting_approval", ["t2.s3"])
    denied = session_after(
        *DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Remember(tool="pay", policy="deny"), c.Start()
    )
    assert session_after(finish_step("s1"), resolve, begin=denied).turn.actions[1].status == "denied"  # type: ignore[union-attr]


def test_a_failed_preapproved_step_runs_again_without_approval() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Start(), finish_step("s1"), resolve, c.Start())
    failed = (
        *lines,
        finish_step("s3", ok=False),
        verdict("complete", "failure"),
        c.GiveAnswer(text="No.", confidence=0),
    )
    again = session_after(*failed, c.Retry(), resolve)
    assert (again.phase, undecided_ids(again)) == ("executing", [])


def test_an_approval_covers_only_the_call_of_its_step() -> None:
    call = ActionSpec(id="t2.s2", tool="cancel", effect="write", arguments={"order": "#W1"})
    approved = session_after(*DRAFTED, plan(LOOK, CANCEL), approve)
    assert is_covered(approved, CANCEL, call)
    assert not is_covered(approved, CANCEL, call.model_copy(update={"tool": "delete"}))
    assert not is_covered(approved, CANCEL, call.model_copy(update={"arguments": {"order": "#W2"}}))
    assert not is_covered(session_after(*DRAFTED, plan(LOOK, CANCEL)), CANCEL, call)


def test_another_version_of_the_plan_needs_new_preapprovals() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), preapprove("s3"), c.Start(), finish_step("s1"), c.Stop())
    edited = session_after(*lines, c.EditPlan(base=2, steps=(LOOK, PAY, CANCEL)))
    assert edited.plan
    assert edited.plan.preapproved == ()
    assert undecided_ids(session_after(approve, resolve, begin=edited)) == ["t2.s3"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("s9", "“s9” is not a step of this plan"),
        ("s1", "Step 1 (s1) changes nothing"),
        ("s2", "Step 2 (s2) has no references"),
        ("s4", "Step 4 (s4) cannot be undone"),
        ("s6", "Step 5 (s6) changes nothing"),
    ],
)
def test_a_step_that_cannot_be_preapproved_is_refused_with_a_sentence(step: str, why: str) -> None:
    in_review = given(*DRAFTED, plan(LOOK, CANCEL, PAY, BURN, READ))
    in_review.when(preapprove("s3", step)).refused(Invalid, why)
    with pytest.raises(Invalid) as refused:
        decide(in_review.session, preapprove(step)(in_review.session), CommandMeta(ANN, NOON))
    assert refused.value.steps.keys() == ({""} if step == "s9" else {step})
    forged = session_after(*DRAFTED, plan(LOOK, CANCEL, PAY, BURN, READ))
    event = decide(forged, preapprove("s3")(forged), CommandMeta(ANN, NOON))
    other = event.model_copy(update={"preapproved": (step,)})
    assert why in admit(forged, other)[1]


def test_only_an_execution_plan_can_be_preapproved_or_started_later() -> None:
    code = (say(), draft(), approve, program(), c.VerifyCode(checks=()))
    action = (request("agentflow", approval="always"), turn())
    for lines in ((say(), draft()), code):
        given(*lines).when(preapprove("s1")).refused(Invalid, "Only the approval of a plan that acts")
        given(*lines).when(approve_later).refused(Invalid, "Only the approval of a plan that acts")
    later = lambda session: allow("1.1")(session).model_copy(update={"start": False})  # noqa: E731
    given(*action).when(later).refused(Invalid, "Only the approval of a plan that acts")
    text = session_after(say(), draft())
    forged = decide(text, approve(text), CommandMeta(ANN, NOON)).model_copy(update={"deferred": True})
    assert "only a plan that acts" in admit(text, forged)[1]


# --- plans approved by the settings


def test_a_plan_approved_by_settings_starts_and_each_write_follows_its_policy() -> None:
    drafted = session_after(*BY_SETTING, plan(LOOK, CANCEL, PAY))
    assert (drafted.phase, drafted.work and drafted.work.service) == ("planning", "planner")
    assert starts_by_setting(drafted)
    begins = given(begin=drafted).when(c.BeginPlan()).then("turn.planned", plan_version=2, turn=1)
    begins.leaves("executing", "executor")
    session = begins.session
    assert session.plan
    assert (session.plan.status, session.plan.approved_by_setting) == ("executing", True)
    looked = session_after(c.Start(), finish_step("s1"), begin=session)
    assert (looked.phase, undecided_ids(looked)) == ("awaiting_approval", ["t2.s2"])
    allowed = session_after(allow("t2.s2"), resolve, begin=looked)
    assert undecided_ids(allowed) == ["t2.s3"], "the approval is for the resolved values"


def test_tool_policies_apply_to_plans_approved_by_settings() -> None:
    never_asking = CANCEL.model_copy(update={"policy": "never"})
    assert (
        undecided_ids(session_after(*BY_SETTING, plan(LOOK, never_asking), c.BeginPlan(), c.Start(), finish_step("s1")))
        == []
    )
    always_asking = (request("execution_plan", require_plan_approval=False, approval="always"), plan(LOOK, READ, EACH))
    started = session_after(*always_asking, c.BeginPlan())
    assert undecided_ids(started) == ["t2.s1"], "a step with references needs approval only when its values are known"
    resolved = session_after(allow("t2.s1"), c.Start(), finish_step("s1"), resolve, begin=started)
    assert undecided_ids(resolved) == ["t2.s6", "t2.s5[0]", "t2.s5[1]"]
    waits = Step(text="Ask", tool="ask_person", id="s7", effect="read", waits_for="person")
    assert undecided_ids(session_after(*always_asking[:1], plan(waits), c.BeginPlan())) == [], (
        "a waiting step calls no tool"
    )


def test_a_version_edited_by_the_user_also_starts_by_the_settings() -> None:
    lines = (*BY_SETTING, plan(LOOK), c.BeginPlan(), c.Start(), finish_step("s1"), c.Stop())
    edited = session_after(*lines, c.EditPlan(base=2, steps=(LOOK, CANCEL)))
    assert starts_by_setting(edited)
    again = given(begin=edited).when(c.BeginPlan()).then("turn.planned", already_done=("t2.s1",))
    assert (again.session.phase, undecided_ids(again.session)) == ("awaiting_approval", ["t2.s2"])


def test_a_version_waits_for_approval_while_a_step_still_runs() -> None:
    lines = (*BY_SETTING, plan(LOOK, CANCEL), c.BeginPlan(), c.Start(), finish_step("s1"), allow("t2.s2"), c.Start())
    waits = session_after(*lines, c.Stop(), c.EditPlan(base=2, steps=(LOOK, CANCEL, PAY)))
    assert waits.phase == "awaiting_approval"
    given(begin=waits).when(approve).refused(OutOfTurn, "A step of the plan is still running")
    assert session_after(finish_step("s2"), approve, begin=waits).phase == "executing"


def test_messages_about_the_plan_are_handled_before_it_starts() -> None:
    for lines in (
        (say("hurry"), plan(LOOK)),
        (plan(LOOK), say("hurry")),
        (plan(LOOK), c.Stop(), c.Reject(replan=True)),
    ):
        session = session_after(*BY_SETTING, *lines)
        assert (session.phase, session.work is not None) == ("planning", True)
        given(begin=session).when(c.BeginPlan()).refused(OutOfTurn, "No plan begins by the settings now")
    asked = session_after(*BY_SETTING, plan(LOOK), c.Stop(), say("why?"))
    given(begin=asked).when(c.BeginPlan()).refused(OutOfTurn, "no longer yours")
    stopped = session_after(*BY_SETTING, plan(LOOK), c.Stop(), c.Retry())
    assert starts_by_setting(stopped)


def test_only_plans_approved_by_settings_start_without_a_user() -> None:
    given(*DRAFTED, plan(LOOK)).when(c.BeginPlan()).refused(OutOfTurn)
    given(*DRAFTED).when(c.BeginPlan()).refused(OutOfTurn, "No plan begins by the settings now")
    drafted = session_after(*BY_SETTING, plan(LOOK, CANCEL))
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
    asks = session_after(*DRAFTED)
    forged = stored.model_copy(update={"id": f"s1:{asks.version}:turn.planned", "version": 2})
    assert "does not begin by the session's settings" in admit(asks, forged)[1]
    given(*BY_SETTING).when(turn()).refused(OutOfTurn)


def test_a_plan_that_needs_no_approval_cannot_be_approved() -> None:
    started = given(*BY_SETTING, plan(LOOK), c.BeginPlan())
    started.when(approve).refused(AlreadyDone)
    given(*BY_SETTING, plan(LOOK)).when(approve).refused(OutOfTurn, "no plan or code in review")


def test_a_fork_waits_for_approval_whatever_the_settings() -> None:
    parent = session_after(*BY_SETTING, plan(LOOK, CANCEL), c.BeginPlan(), c.Start(), finish_step("s1"), c.Stop())
    event = decide(
        Session("s2"), c.Fork(parent_id="s1", parent_version=1, carried=carry_over(parent)), CommandMeta(ANN, NOON)
    )
    fork, wrong = admit(Session("s2"), event)
    assert (wrong, fork.phase) == ("", "awaiting_approval")
    assert undecided_ids(session_after(approve, begin=fork)) == []


def test_a_retried_step_follows_its_policy() -> None:
    lines = (*BY_SETTING, plan(LOOK, CANCEL), c.BeginPlan(), c.Start(), finish_step("s1"), allow("t2.s2"), c.Start())
    failed = (
        *lines,
        finish_step("s2", ok=False),
        verdict("complete", "failure"),
        c.GiveAnswer(text="No.", confidence=0),
    )
    again = session_after(*failed, c.Retry(), c.Start())
    assert (again.phase, undecided_ids(again)) == ("awaiting_approval", ["t2.s2"])


# --- approved, but not started


def test_a_plan_can_be_approved_now_and_started_later() -> None:
    later = given(*DRAFTED, plan(LOOK, CANCEL)).when(approve_later).then("plan.approved", deferred=True)
    later.leaves("resting", "nobody", rest_reason="approved")
    session = later.session
    assert (task_status(session), state_name(session)) == ("approved", "approved")
    assert is_unfinished(session)
    assert is_held_up(session)
    started = later.given.when(c.Retry()).then("session.retried").leaves("executing", "executor").session
    assert (task_status(started), [a.spec.id for a in next_batch(started.turn)]) == ("executing", ["t2.s1"])
    done = session_after(c.Start(), finish_step("s1"), c.Start(), finish_step("s2"), begin=started)
    assert done.phase == "verifying"


def test_approving_a_deferred_plan_again_says_how_to_start_it() -> None:
    waits = given(*DRAFTED, plan(LOOK), approve_later)
    waits.when(approve).refused(AlreadyDone, "It has not been started: start it.")
    with pytest.raises(AlreadyDone) as again:
        decide(waits.session, approve_later(waits.session), CommandMeta(ANN, NOON))
    assert "start it" not in str(again.value)


def test_an_approved_plan_that_has_not_started_can_be_edited_cancelled_or_discussed() -> None:
    waits = (*DRAFTED, plan(LOOK, CANCEL), approve_later)
    edited = session_after(*waits, c.EditPlan(base=2, steps=(LOOK,)))
    assert (edited.phase, task_status(edited)) == ("awaiting_approval", "pending_approval")
    assert task_status(session_after(*waits, c.CancelPlan())) == "cancelled"
    given(*waits).when(c.Stop()).refused(OutOfTurn)
    after = session_after(*waits, say("also look at #W2"))
    assert (after.phase, due(after), after.task) == ("resting", "planner", "t2")
    answered = session_after(c.AnswerRemark(text="Yes."), begin=after)
    assert (answered.phase, answered.rest_reason, task_status(answered)) == ("resting", "approved", "approved")
    left_out = session_after(*waits, c.Skip(action_id="t2.s2"))
    assert (left_out.phase, task_status(left_out)) == ("resting", "approved")
    with pytest.raises(CommandRefused):
        session_after(*waits, feedback("x"), c.BeginPlan())
