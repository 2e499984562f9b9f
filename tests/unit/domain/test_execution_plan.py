"""Plans that act: approved as they stand, carried out step by step, references resolved on the way."""

from collections.abc import Callable
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, ToolRule
from shared.domain import commands as c
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.forks import carried
from shared.domain.plan_steps import needs, problems, unresolved
from shared.domain.session import Session, undecided
from shared.domain.waves import ready
from shared.story import finish
from tests.unit.domain.spec import StoryLine, approve, given, reject, request, say, verdict

LOOK = Step(text="Look the order up", tool="get_order", id="s1", effect="read", arguments={"order": "#W1"})
CANCEL = Step(text="Cancel it", tool="cancel", id="s2", effect="write", arguments={"order": "#W1"}, after=("s1",))
NOTE = Step(text="Note the price", tool="note", id="s3", effect="read", arguments={"text": "{{steps.s1.output.price}}"})
PAY = Step(text="Pay it back", tool="pay", id="s4", effect="write", arguments={"sum": "{{steps.s1.output.price}}"})
DRAFTED = (request("execution_plan"),)


def told(*lines: StoryLine) -> Session:
    return given(*lines).session


def plan(*steps: Step) -> c.DraftPlan:
    return c.DraftPlan(goal="Cancel it", steps=steps, kind="execution")


def ended(step: str, *, ok: bool = True, result: Any = None, task: str = "t2") -> c.Finish:
    return finish(action_id=f"{task}.{step}", ok=ok, result={"price": 20} if result is None else result)


def resolve(session: Session) -> c.ChangeTurn:
    """What the executor does for the wave that is ready."""
    specs = [action.spec for action in ready(session.turn) if unresolved(session, action.spec)]
    return c.ChangeTurn(
        actions=tuple(s.model_copy(update={"arguments": dict.fromkeys(s.arguments, 20)}) for s in specs)
    )


def status(session: Session) -> dict[str, str]:
    return {action.spec.id: action.status for action in session.turn.actions} if session.turn else {}


def test_a_draft_has_a_task_that_its_versions_share() -> None:
    first = told(*DRAFTED, plan(LOOK))
    assert first.plan
    assert (first.phase, first.plan.task, first.plan.kind) == ("awaiting_approval", "t2", "execution")
    edited = told(*DRAFTED, plan(LOOK), c.EditPlan(base=2, steps=(LOOK, CANCEL)))
    assert edited.plan
    assert (edited.plan.task, edited.plan.version) == ("t2", 3)
    again = told(*DRAFTED, plan(LOOK), reject, say("cancel it, too"), plan(LOOK, CANCEL))
    assert again.plan
    assert again.plan.task == "t2"


def test_another_request_is_another_task() -> None:
    done = (*DRAFTED, plan(LOOK), approve, c.Start(), ended("s1"), verdict(), c.GiveAnswer(text="Done.", confidence=1))
    rests = told(*done)
    assert (rests.phase, rests.rest_reason, rests.plan and rests.plan.status) == ("resting", "answered", "completed")
    following = told(*done, request("execution_plan", "another one"), plan(LOOK))
    assert following.plan
    assert following.plan.task == f"t{following.plan.version}" != "t2"


def test_the_hash_covers_all_that_can_run() -> None:
    hashes = {
        told(*DRAFTED, plan(*steps)).plan.hash  # type: ignore[union-attr]
        for steps in (
            (LOOK, CANCEL),
            (LOOK, CANCEL.model_copy(update={"after": ()})),
            (LOOK.model_copy(update={"id": "s9"}), CANCEL.model_copy(update={"after": ("s9",)})),
            (LOOK, CANCEL.model_copy(update={"arguments": {"order": "#W2"}})),
            (LOOK, CANCEL.model_copy(update={"effect": "irreversible"})),
            (LOOK, CANCEL.model_copy(update={"tool": "delete"})),
            (LOOK, CANCEL.model_copy(update={"fingerprint": "a"})),
            (LOOK, CANCEL.model_copy(update={"fingerprint": "b"})),
        )
    }
    assert len(hashes) == 8


def test_what_the_plan_shows_is_approved_with_it() -> None:
    session = told(*DRAFTED, plan(LOOK, CANCEL), approve)
    assert session.turn
    assert [(a.spec.id, a.spec.decision, a.spec.depends_on) for a in session.turn.actions] == [
        ("t2.s1", "proceed", ()),
        ("t2.s2", "proceed", ("t2.s1",)),
    ]
    assert session.phase == "executing"
    assert [a.spec.id for a in ready(session.turn)] == ["t2.s1"]
    both = told(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1"), c.Start(), ended("s2"))
    assert (both.phase, status(both)) == ("verifying", {"t2.s1": "finished", "t2.s2": "finished"})


def test_a_tool_that_does_more_than_the_plan_showed_is_asked_about() -> None:
    session = told(*DRAFTED, plan(LOOK), approve, c.Start(tools={"get_order": ToolRule(effect="write")}))
    assert (session.phase, len(undecided(session.turn))) == ("awaiting_approval", 1)
    denied = told(*DRAFTED, plan(CANCEL.model_copy(update={"policy": "deny", "after": ()})), approve)
    assert status(denied) == {"t2.s2": "denied"}


def test_a_change_whose_values_come_from_another_step_asks_when_they_are_known() -> None:
    begun = (*DRAFTED, plan(LOOK, NOTE, PAY), approve, c.Start(), ended("s1"))
    waiting = told(*begun)
    assert (waiting.phase, undecided(waiting.turn)) == ("executing", ())
    asked = told(*begun, resolve)
    assert asked.phase == "awaiting_approval"
    assert [(a.spec.id, a.spec.arguments) for a in undecided(asked.turn)] == [("t2.s4", {"sum": 20})]
    allowed = told(*begun, resolve, c.Approve(version=asked.version, action_id="t2.s4"))
    assert allowed.phase == "executing"
    assert not any(unresolved(allowed, action.spec) for action in ready(allowed.turn))
    refused = told(*begun, resolve, c.Reject(action_id="t2.s4"))
    assert (refused.phase, status(refused)["t2.s3"]) == ("verifying", "planned")


def test_what_is_not_resolved_is_not_started() -> None:
    with pytest.raises(OutOfTurn, match=r"t2\.s3, t2\.s4 cannot start"):
        told(*DRAFTED, plan(LOOK, NOTE, PAY), approve, c.Start(), ended("s1"), c.Start())


def test_only_what_references_stand_for_may_come_in() -> None:
    begun = (*DRAFTED, plan(LOOK, NOTE, PAY), approve, c.Start(), ended("s1"))
    session = told(*begun)
    pay = next(action.spec for action in ready(session.turn) if action.spec.tool == "pay")
    for wrong in ({"tool": "give"}, {"id": "t2.s1"}, {"effect": "read"}, {"depends_on": ()}, {"id": "t2.s9"}):
        with pytest.raises(Invalid):
            told(*begun, c.ChangeTurn(actions=(pay.model_copy(update=wrong),)))
    literal = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1"))
    cancel = ready(told(*literal).turn)[0].spec
    with pytest.raises(Invalid, match="would be another step"):
        told(*literal, c.ChangeTurn(actions=(cancel.model_copy(update={"arguments": {"order": "#W7"}}),)))


def test_what_a_reference_stands_for_may_be_nothing() -> None:
    """The step fails before it starts, and says why."""
    begun = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), ended("s1"))
    pay = ready(told(*begun).turn)[0].spec
    missing = pay.model_copy(update={"decision": "deny", "decision_reason": "there is no price"})
    failed = told(*begun, c.ChangeTurn(actions=(missing,)))
    assert failed.turn
    assert (failed.phase, failed.turn.actions[1].status, failed.turn.actions[1].error) == (
        "verifying",
        "denied",
        "there is no price",
    )


def test_where_a_step_comes_to_nothing_no_other_begins() -> None:
    other = LOOK.model_copy(update={"id": "s5", "arguments": {"order": "#W5"}})
    last = CANCEL.model_copy(update={"after": ("s5",)})
    session = told(*DRAFTED, plan(LOOK, other, last), approve, c.Start(), ended("s1", ok=False))
    assert session.phase == "executing"  # the other one runs still
    session = told(
        *DRAFTED,
        plan(LOOK, other, last),
        approve,
        c.Start(),
        ended("s1", ok=False),
        ended("s5"),
        verdict("complete", "failure"),
    )
    assert (session.phase, session.plan and session.plan.status) == ("answering", "failed")
    assert status(session) == {"t2.s1": "failed", "t2.s5": "finished", "t2.s2": "planned"}


def test_equal_steps_are_each_done() -> None:
    again = CANCEL.model_copy(update={"id": "s3", "after": ("s2",)})
    session = told(*DRAFTED, plan(LOOK, CANCEL, again), approve, c.Start(), ended("s1"), c.Start(), ended("s2"))
    assert session.turn
    assert [a.spec.id for a in ready(session.turn)] == ["t2.s3"]
    assert session.turn.actions[2].spec.decision == "proceed"


def test_a_draft_that_could_never_be_carried_out_is_refused_with_all_that_is_wrong() -> None:
    loop = (LOOK.model_copy(update={"after": ("s2",)}), CANCEL)
    with pytest.raises(Invalid, match="wait for each other") as refused:
        told(*DRAFTED, plan(*loop))
    assert refused.value.steps == {"": ["Steps 1 (s1), 2 (s2) wait for each other."]}
    with pytest.raises(Invalid, match="depends on s9, which is no step") as refused:
        told(*DRAFTED, plan(LOOK, PAY.model_copy(update={"arguments": {"sum": "{{steps.s9.output}}"}})))
    assert refused.value.steps == {PAY.id: ["depends on s9, which is no step."]}
    with pytest.raises(Invalid, match="wait for each other"):  # over order and references together
        told(*DRAFTED, plan(LOOK.model_copy(update={"after": ("s4",)}), PAY))
    assert problems((LOOK.model_copy(update={"after": ("s1",)}),)) == ("Step 1 (s1) waits for itself.",)
    assert problems((LOOK, LOOK)) == ("Two steps have the id s1.",)
    assert problems((Step(text="Think", id="s1"),)) == ("Step 1 (s1) names no tool.",)
    assert problems((Step(text="Look", tool="look"),)) == ("Step 1 has no id.",)
    assert "is no reference" in problems((LOOK.model_copy(update={"arguments": {"a": "{{s1}}"}}),))[0]
    assert needs(PAY.model_copy(update={"after": ("s2", "s1")})) == ("s2", "s1")
    with pytest.raises(Invalid, match="depends on s1, which is no step"):
        told(*DRAFTED, plan(LOOK, CANCEL), c.EditPlan(base=2, steps=(CANCEL,)))


def test_turns_of_tools_are_not_planned_beside_it() -> None:
    with pytest.raises(OutOfTurn):
        told(*DRAFTED, c.PlanTurn(sub_goal="x", actions=()))


def test_a_fork_has_a_task_of_its_own() -> None:
    parent = told(*DRAFTED, plan(LOOK))
    fork = c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carried(parent))
    child = told(fork)
    assert child.plan
    assert (child.plan.task, child.plan.kind, child.phase) == ("t1", "execution", "awaiting_approval")
    assert parent.plan
    assert parent.plan.task == "t2"


# --- another version of a plan that was carried out in part


NOTED = Step(text="Note it", tool="note", id="s6", effect="write", arguments={"text": "x"}, after=("s2",))
IN_PART = (
    *DRAFTED,
    plan(LOOK, CANCEL, NOTED),
    approve,
    *(c.Start(), ended("s1"), c.Start(), ended("s2"), c.Start(), ended("s6", ok=False)),
    verdict("complete", "failure"),
    c.GiveAnswer(text="Not all was done.", confidence=0),
)
OTHERWISE = NOTED.model_copy(update={"id": "s7", "arguments": {"text": "y"}})


def edited(*steps: Step) -> Callable[[Session], c.EditPlan]:
    """The person's version of the plan."""
    return lambda session: c.EditPlan(base=session.plan.version if session.plan else 0, steps=steps)


def changed(*steps: Step) -> tuple[StoryLine, ...]:
    return (*IN_PART, edited(*steps))


def test_what_was_done_is_not_done_again() -> None:
    session = told(*changed(LOOK, CANCEL, OTHERWISE), approve)
    assert status(session) == {"t2.s1": "finished", "t2.s2": "finished", "t2.s7": "planned"}
    assert [action.spec.id for action in ready(session.turn)] == ["t2.s7"]
    done = told(*changed(LOOK, CANCEL, OTHERWISE), approve, c.Start(), ended("s7"))
    assert (done.phase, status(done)["t2.s7"]) == ("verifying", "finished")
    event = given(*changed(LOOK, CANCEL, OTHERWISE)).when(approve).then_event()
    assert isinstance(event, facts.PlanApproved)
    assert event.already_done == ("t2.s1", "t2.s2")


def test_what_failed_is_tried_again_under_its_own_id() -> None:
    session = told(*changed(LOOK, CANCEL, NOTED.model_copy(update={"text": "Once more"})), approve)
    assert status(session) == {"t2.s1": "finished", "t2.s2": "finished", "t2.s6": "planned"}


def test_a_step_that_was_done_stays_what_it_was() -> None:
    other = CANCEL.model_copy(update={"arguments": {"order": "#W9"}})
    with pytest.raises(Invalid, match=r"Step 2 \(s2\) has been begun"):
        told(*changed(LOOK, other, OTHERWISE))
    with pytest.raises(Invalid, match=r"Step 2 \(s2\) has been begun"):
        told(*changed(LOOK, CANCEL, OTHERWISE), reject, say("cancel the other one"), plan(LOOK, other))
    assert told(*changed(LOOK, CANCEL.model_copy(update={"text": "Cancelled"}), OTHERWISE)).phase == "awaiting_approval"


def test_what_may_have_been_done_is_asked_about() -> None:
    doubt = (
        *(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1"), c.Start()),
        c.Uncertain(action_id="t2.s2", reason="it was ended"),
        c.Stop(),
    )
    session = told(*doubt, edited(LOOK, CANCEL, OTHERWISE), approve)
    assert session.phase == "awaiting_approval"
    assert [(a.spec.id, a.spec.approval_reason) for a in undecided(session.turn)] == [
        ("t2.s2", "it may have been done already: nobody knows what became of it")
    ]


def test_a_no_in_one_version_does_not_settle_the_doubt() -> None:
    doubt = (
        *(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1"), c.Start()),
        c.Uncertain(action_id="t2.s2", reason="it was ended"),
        c.Stop(),
        *(edited(LOOK, CANCEL, OTHERWISE), approve, c.Reject(action_id="t2.s2")),
        *(verdict("complete", "failure"), c.GiveAnswer(text="Not all.", confidence=0)),
    )
    session = told(*doubt, edited(LOOK, CANCEL), approve)
    assert [action.spec.id for action in undecided(session.turn)] == ["t2.s2"]


def test_a_step_that_failed_late_was_not_done() -> None:
    stopped = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1"), c.Start(), c.Stop())
    session = told(*stopped, edited(LOOK, CANCEL, OTHERWISE), ended("s2", ok=False), approve)
    assert (session.phase, status(session)["t2.s2"], undecided(session.turn)) == ("executing", "planned", ())


def test_a_version_is_not_approved_while_a_step_of_another_runs() -> None:
    runs = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1"), c.Start(), c.Stop())
    again = (*runs, edited(LOOK, CANCEL, OTHERWISE))
    with pytest.raises(OutOfTurn, match="still running"):
        told(*again, approve)
    session = told(*again, ended("s2"), approve)
    assert status(session) == {"t2.s1": "finished", "t2.s2": "finished", "t2.s7": "planned"}


# --- a step came to nothing: retry, skip, change

FAILED = (verdict("complete", "failure"), c.GiveAnswer(text="One of two.", confidence=0))
STUCK = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1", ok=False), *FAILED)


def attempts(session: Session) -> dict[str, int]:
    return {action.spec.id: action.attempt for action in session.turn.actions} if session.turn else {}


def test_a_retry_runs_what_failed_once_more_and_then_the_rest() -> None:
    stuck = told(*STUCK)
    assert (stuck.phase, stuck.plan and stuck.plan.status) == ("resting", "failed")
    again = told(*STUCK, c.Retry())
    assert (again.phase, again.plan and again.plan.status) == ("executing", "executing")
    assert (status(again)["t2.s1"], attempts(again)) == ("planned", {"t2.s1": 2, "t2.s2": 1})
    ended_again = finish(action_id="t2.s1", attempt=2, ok=True, result={"price": 20})
    rest = (c.Start(), ended_again, c.Start(), ended("s2"), verdict(), c.GiveAnswer(text="Done.", confidence=1))
    done = told(*STUCK, c.Retry(), *rest)
    assert (done.phase, done.plan and done.plan.status) == ("resting", "completed")
    with pytest.raises(OutOfTurn, match="nothing to retry"):
        told(*STUCK, c.Retry(), *rest, c.Retry())


def test_a_retry_after_a_no_asks_again_with_values_resolved_anew() -> None:
    begun = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), ended("s1"), resolve, c.Reject(action_id="t2.s4"))
    again = told(*begun, *FAILED, c.Retry())
    assert again.turn
    pay = again.turn.actions[1]
    assert (pay.status, pay.attempt, unresolved(again, pay.spec)) == ("planned", 1, True)
    asked = told(*begun, *FAILED, c.Retry(), resolve)
    assert asked.phase == "awaiting_approval"


def test_what_cannot_be_undone_is_asked_about_before_it_is_tried_again() -> None:
    burn = LOOK.model_copy(update={"effect": "irreversible", "tool": "burn"})
    again = told(*DRAFTED, plan(burn), approve, c.Start(), ended("s1", ok=False), *FAILED, c.Retry())
    assert again.phase == "awaiting_approval"
    assert [a.spec.approval_reason for a in undecided(again.turn)] == ["it cannot be undone, and has been tried before"]


def test_a_retry_asks_again_about_a_step_that_was_left_in_doubt() -> None:
    doubt = (*DRAFTED, plan(CANCEL.model_copy(update={"after": ()})), approve, c.Start())
    left = (*doubt, c.Uncertain(action_id="t2.s2", attempt=1, reason="crashed"), c.Answer(text="Leave it"), *FAILED)
    with pytest.raises(OutOfTurn, match="Nobody knows"):
        told(*left, c.Skip(action_id="t2.s2"))
    asked = told(*left, c.Retry())
    assert (asked.phase, asked.question and asked.question.about) == ("awaiting_input", "uncertain")
    assert attempts(asked) == {"t2.s2": 1}


def test_a_step_that_is_left_out_holds_nothing_up_but_what_uses_its_output() -> None:
    without = told(*STUCK, c.Skip(action_id="t2.s1"))
    assert (without.phase, status(without)) == ("executing", {"t2.s1": "skipped", "t2.s2": "planned"})
    uses = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), ended("s1", ok=False), *FAILED)
    with pytest.raises(Invalid, match=r"is used by “Pay it back” \(s4\)"):
        told(*uses, c.Skip(action_id="t2.s1"))
    first = told(*uses, c.Skip(action_id="t2.s4"))
    assert first.phase == "resting"
    both = told(*uses, c.Skip(action_id="t2.s4"), c.Skip(action_id="t2.s1"))
    assert (both.phase, set(status(both).values())) == ("verifying", {"skipped"})


def test_a_step_can_be_left_out_before_it_comes_to_be() -> None:
    session = told(*DRAFTED, plan(LOOK, CANCEL), approve, c.Skip(action_id="t2.s2"), c.Start(), ended("s1"))
    assert (session.phase, status(session)) == ("verifying", {"t2.s1": "finished", "t2.s2": "skipped"})
    for over in ("t2.s1", "t2.s2"):
        with pytest.raises(OutOfTurn, match="too late to skip"):
            told(*DRAFTED, plan(LOOK, CANCEL), approve, c.Skip(action_id="t2.s2"), c.Start(), c.Skip(action_id=over))


def test_a_stop_is_no_reason_to_go_on_when_a_step_is_left_out() -> None:
    begun = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), c.Stop())
    late = finish(action_id="t2.s1", ok=False, cause="stopped")
    stopped = told(*begun, late, c.Skip(action_id="t2.s1"))
    assert (stopped.phase, stopped.rest_reason) == ("resting", "stopped")
    again = told(*begun, late, c.Skip(action_id="t2.s1"), c.Retry())
    assert (again.phase, status(again)) == ("executing", {"t2.s1": "skipped", "t2.s2": "planned"})


def test_words_at_rest_are_about_the_plan_until_it_has_come_to_its_end() -> None:
    new = LOOK.model_copy(update={"id": "s6", "tool": "find_order"})
    changed = told(*STUCK, say("look it up by name instead"), plan(new, CANCEL.model_copy(update={"after": ("s6",)})))
    assert changed.plan
    assert (changed.plan.task, changed.phase, changed.words.request) == ("t2", "awaiting_approval", "cancel my order")
    done = (c.Complete(), say("another thing"), plan(LOOK))
    assert told(*STUCK, *done).task != "t2"


def test_after_a_stop_a_plan_goes_on_with_what_was_cut_off() -> None:
    begun = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), c.Stop())
    late = finish(action_id="t2.s1", ok=False, cause="stopped")
    again = told(*begun, late, c.Retry())
    assert (again.phase, attempts(again)) == ("executing", {"t2.s1": 2, "t2.s2": 1})
    assert [a.spec.id for a in ready(again.turn)] == ["t2.s1"]


# --- a plan of one's own

OWN = c.Say(text="Cancel my order", workflow="execution_plan", brings_plan=True)


def test_a_person_begins_with_a_plan_of_their_own_that_nobody_drafts() -> None:
    begun = told(OWN)
    assert (begun.phase, begun.work, begun.plan) == ("resting", None, None)
    shown = told(OWN, c.EditPlan(base=1, steps=(LOOK, CANCEL)))
    assert shown.plan
    assert (shown.phase, shown.plan.task, shown.plan.number, shown.plan.kind) == (
        "awaiting_approval",
        "t2",
        1,
        "execution",
    )
    assert (shown.plan.goal, shown.plan.by) == ("Cancel my order", "user:ann")
    running = told(OWN, c.EditPlan(base=1, steps=(LOOK, CANCEL)), approve)
    assert (running.phase, status(running)) == ("executing", {"t2.s1": "planned", "t2.s2": "planned"})


def test_a_text_plan_can_be_brought_along_too_and_a_path_cannot() -> None:
    text = told(c.Say(text="Write it", brings_plan=True), c.EditPlan(base=1, steps=(Step(text="Write"),)))
    assert text.plan
    assert (text.plan.kind, text.plan.task, text.phase) == ("text", "", "awaiting_approval")
    with pytest.raises(OutOfTurn):
        told(c.Say(text="Ask it", workflow="flow", brings_plan=True), c.EditPlan(base=1, steps=(Step(text="Ask"),)))


def test_a_plan_of_ones_own_is_held_against_the_rules_and_begins_a_session_only() -> None:
    with pytest.raises(Invalid, match="depends on s1, which is no step"):
        told(OWN, c.EditPlan(base=1, steps=(CANCEL,)))
    with pytest.raises(OutOfTurn, match="begins a session"):
        told(*DRAFTED, plan(LOOK), OWN)
    with pytest.raises(OutOfTurn):
        told(OWN, c.Complete(), c.EditPlan(base=2, steps=(LOOK,)))
