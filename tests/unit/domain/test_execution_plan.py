"""Execution plans: approval, execution step by step, references, new versions, retries and skipped steps."""

from collections.abc import Callable
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, ToolRule
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.plan.validation import plan_problems
from shared.domain.steps.plan_steps import change_key, changes_made, is_unresolved, known_steps, required_steps
from shared.domain.transcript.forks import carry_over
from shared.domain.turn.batches import next_batch
from shared.story import finish_action
from tests.unit.domain.spec import StoryLine, approve, given, reject, request, say, verdict

LOOK = Step(text="Look the order up", tool="get_order", id="s1", effect="read", arguments={"order": "#W1"})
CANCEL = Step(text="Cancel it", tool="cancel", id="s2", effect="write", arguments={"order": "#W1"}, after=("s1",))
NOTE = Step(text="Note the price", tool="note", id="s3", effect="read", arguments={"text": "{{steps.s1.output.price}}"})
PAY = Step(text="Pay it back", tool="pay", id="s4", effect="write", arguments={"sum": "{{steps.s1.output.price}}"})
DRAFTED = (request("execution_plan"),)


def session_after(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def plan(*steps: Step) -> c.DraftPlan:
    return c.DraftPlan(goal="Cancel it", steps=steps, kind="execution")


def finish_step(step: str, *, ok: bool = True, result: Any = None, task: str = "t2") -> c.Finish:
    return finish_action(action_id=f"{task}.{step}", ok=ok, result={"price": 20} if result is None else result)


def resolve(session: Session) -> c.ChangeTurn:
    """The executor's command for the next batch."""
    specs = [action.spec for action in next_batch(session.turn) if is_unresolved(session, action.spec)]
    return c.ChangeTurn(
        actions=tuple(s.model_copy(update={"arguments": dict.fromkeys(s.arguments, 20)}) for s in specs)
    )


def status(session: Session) -> dict[str, str]:
    return {action.spec.id: action.status for action in session.turn.actions} if session.turn else {}


def test_a_draft_has_a_task_that_its_versions_share() -> None:
    first = session_after(*DRAFTED, plan(LOOK))
    assert first.plan
    assert (first.phase, first.plan.task, first.plan.kind) == ("awaiting_approval", "t2", "execution")
    edited = session_after(*DRAFTED, plan(LOOK), c.EditPlan(base=2, steps=(LOOK, CANCEL)))
    assert edited.plan
    assert (edited.plan.task, edited.plan.version) == ("t2", 3)
    again = session_after(*DRAFTED, plan(LOOK), reject, say("cancel it, too"), plan(LOOK, CANCEL))
    assert again.plan
    assert again.plan.task == "t2"


def test_another_request_is_another_task() -> None:
    done = (
        *DRAFTED,
        plan(LOOK),
        approve,
        c.Start(),
        finish_step("s1"),
        verdict(),
        c.GiveAnswer(text="Done.", confidence=1),
    )
    rests = session_after(*done)
    assert (rests.phase, rests.rest_reason, rests.plan and rests.plan.status) == ("resting", "answered", "completed")
    following = session_after(*done, request("execution_plan", "another one"), plan(LOOK))
    assert following.plan
    assert following.plan.task == f"t{following.plan.version}" != "t2"


def test_the_hash_covers_all_that_can_run() -> None:
    hashes = {
        session_after(*DRAFTED, plan(*steps)).plan.hash  # type: ignore[union-attr]
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


def test_the_approval_covers_the_calls_that_the_plan_shows() -> None:
    session = session_after(*DRAFTED, plan(LOOK, CANCEL), approve)
    assert session.turn
    assert [(a.spec.id, a.spec.decision, a.spec.depends_on) for a in session.turn.actions] == [
        ("t2.s1", "proceed", ()),
        ("t2.s2", "proceed", ("t2.s1",)),
    ]
    assert session.phase == "executing"
    assert [a.spec.id for a in next_batch(session.turn)] == ["t2.s1"]
    both = session_after(
        *DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"), c.Start(), finish_step("s2")
    )
    assert (both.phase, status(both)) == ("verifying", {"t2.s1": "finished", "t2.s2": "finished"})


def test_a_tool_that_does_more_than_planned_needs_approval() -> None:
    session = session_after(*DRAFTED, plan(LOOK), approve, c.Start(tools={"get_order": ToolRule(effect="write")}))
    assert (session.phase, len(undecided_actions(session.turn))) == ("awaiting_approval", 1)
    denied = session_after(*DRAFTED, plan(CANCEL.model_copy(update={"policy": "deny", "after": ()})), approve)
    assert status(denied) == {"t2.s2": "denied"}


def test_a_write_with_references_needs_approval_once_its_values_are_known() -> None:
    lines = (*DRAFTED, plan(LOOK, NOTE, PAY), approve, c.Start(), finish_step("s1"))
    waiting = session_after(*lines)
    assert (waiting.phase, undecided_actions(waiting.turn)) == ("executing", ())
    asked = session_after(*lines, resolve)
    assert asked.phase == "executing"  # the note first, which asks nobody
    noted = session_after(*lines, resolve, c.Start(), finish_step("s3"))
    assert (noted.phase, noted.work) == ("awaiting_approval", None)
    assert [(a.spec.id, a.spec.arguments) for a in undecided_actions(asked.turn)] == [("t2.s4", {"sum": 20})]
    allowed = session_after(*lines, resolve, c.Approve(version=asked.version, action_id="t2.s4"))
    assert allowed.phase == "executing"
    assert not any(is_unresolved(allowed, action.spec) for action in next_batch(allowed.turn))
    refused = session_after(*lines, resolve, c.Reject(action_id="t2.s4"))
    assert (refused.phase, status(refused)["t2.s3"]) == ("verifying", "planned")


def test_a_step_with_unresolved_references_does_not_start() -> None:
    with pytest.raises(OutOfTurn, match=r"t2\.s3, t2\.s4 cannot start"):
        session_after(*DRAFTED, plan(LOOK, NOTE, PAY), approve, c.Start(), finish_step("s1"), c.Start())


def test_resolving_may_only_fill_in_the_values_of_references() -> None:
    lines = (*DRAFTED, plan(LOOK, NOTE, PAY), approve, c.Start(), finish_step("s1"))
    session = session_after(*lines)
    pay = next(action.spec for action in next_batch(session.turn) if action.spec.tool == "pay")
    for change in ({"tool": "give"}, {"id": "t2.s1"}, {"effect": "read"}, {"depends_on": ()}, {"id": "t2.s9"}):
        with pytest.raises(Invalid):
            session_after(*lines, c.ChangeTurn(actions=(pay.model_copy(update=change),)))
    literal = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"))
    cancel = next_batch(session_after(*literal).turn)[0].spec
    with pytest.raises(Invalid, match="would become another step"):
        session_after(*literal, c.ChangeTurn(actions=(cancel.model_copy(update={"arguments": {"order": "#W7"}}),)))


def test_a_reference_without_a_value_fails_its_step() -> None:
    """The step fails before it starts, and says why."""
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"))
    pay = next_batch(session_after(*lines).turn)[0].spec
    missing = pay.model_copy(update={"decision": "deny", "decision_reason": "there is no price"})
    failed = session_after(*lines, c.ChangeTurn(actions=(missing,)))
    assert failed.turn
    assert (failed.phase, failed.turn.actions[1].status, failed.turn.actions[1].error) == (
        "verifying",
        "denied",
        "there is no price",
    )


def test_after_a_failed_step_no_other_starts() -> None:
    other = LOOK.model_copy(update={"id": "s5", "arguments": {"order": "#W5"}})
    last = CANCEL.model_copy(update={"after": ("s5",)})
    session = session_after(*DRAFTED, plan(LOOK, other, last), approve, c.Start(), finish_step("s1", ok=False))
    assert session.phase == "executing"  # the other step is still running
    session = session_after(
        *DRAFTED,
        plan(LOOK, other, last),
        approve,
        c.Start(),
        finish_step("s1", ok=False),
        finish_step("s5"),
        verdict("complete", "failure"),
    )
    assert (session.phase, session.plan and session.plan.status) == ("answering", "failed")
    assert status(session) == {"t2.s1": "failed", "t2.s5": "finished", "t2.s2": "planned"}


def test_equal_steps_each_run() -> None:
    again = CANCEL.model_copy(update={"id": "s3", "after": ("s2",)})
    session = session_after(
        *DRAFTED, plan(LOOK, CANCEL, again), approve, c.Start(), finish_step("s1"), c.Start(), finish_step("s2")
    )
    assert session.turn
    assert [a.spec.id for a in next_batch(session.turn)] == ["t2.s3"]
    assert session.turn.actions[2].spec.decision == "proceed"


def test_an_invalid_draft_is_refused_with_all_its_problems() -> None:
    loop = (LOOK.model_copy(update={"after": ("s2",)}), CANCEL)
    with pytest.raises(Invalid, match="wait for each other") as refused:
        session_after(*DRAFTED, plan(*loop))
    assert refused.value.steps == {"": ["Steps 1 (s1), 2 (s2) wait for each other."]}
    with pytest.raises(Invalid, match="depends on s9, which is not a step of the plan") as refused:
        session_after(*DRAFTED, plan(LOOK, PAY.model_copy(update={"arguments": {"sum": "{{steps.s9.output}}"}})))
    assert refused.value.steps == {PAY.id: ["depends on s9, which is not a step of the plan."]}
    with pytest.raises(Invalid, match="wait for each other"):  # over order and references together
        session_after(*DRAFTED, plan(LOOK.model_copy(update={"after": ("s4",)}), PAY))
    assert plan_problems((LOOK.model_copy(update={"after": ("s1",)}),)) == ("Step 1 (s1) waits for itself.",)
    assert plan_problems((LOOK, LOOK)) == ("Two steps have the id s1.",)
    assert plan_problems((Step(text="Think", id="s1"),)) == ("Step 1 (s1) names no tool.",)
    assert plan_problems((Step(text="Look", tool="look"),)) == ("Step 1 has no id.",)
    assert "is not a reference" in plan_problems((LOOK.model_copy(update={"arguments": {"a": "{{s1}}"}}),))[0]
    assert required_steps(PAY.model_copy(update={"after": ("s2", "s1")})) == ("s2", "s1")
    with pytest.raises(Invalid, match="depends on s1, which is not a step of the plan"):
        session_after(*DRAFTED, plan(LOOK, CANCEL), c.EditPlan(base=2, steps=(CANCEL,)))


def test_the_planner_cannot_plan_turns_in_an_execution_plan() -> None:
    with pytest.raises(OutOfTurn):
        session_after(*DRAFTED, c.PlanTurn(sub_goal="x", actions=()))


def test_a_fork_has_a_task_of_its_own() -> None:
    parent = session_after(*DRAFTED, plan(LOOK))
    fork = c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carry_over(parent))
    child = session_after(fork)
    assert child.plan
    assert (child.plan.task, child.plan.kind, child.phase) == ("t1", "execution", "awaiting_approval")
    assert parent.plan
    assert parent.plan.task == "t2"


# --- another version of a partly executed plan


NOTED = Step(text="Note it", tool="note", id="s6", effect="write", arguments={"text": "x"}, after=("s2",))
PARTLY_DONE = (
    *DRAFTED,
    plan(LOOK, CANCEL, NOTED),
    approve,
    *(c.Start(), finish_step("s1"), c.Start(), finish_step("s2"), c.Start(), finish_step("s6", ok=False)),
    verdict("complete", "failure"),
    c.GiveAnswer(text="Not all was done.", confidence=0),
)
CHANGED_NOTE = NOTED.model_copy(update={"id": "s7", "arguments": {"text": "y"}})


def edited(*steps: Step) -> Callable[[Session], c.EditPlan]:
    """The user's version of the plan."""
    return lambda session: c.EditPlan(base=session.plan.version if session.plan else 0, steps=steps)


def changed(*steps: Step) -> tuple[StoryLine, ...]:
    return (*PARTLY_DONE, edited(*steps))


def test_a_finished_step_does_not_run_again() -> None:
    session = session_after(*changed(LOOK, CANCEL, CHANGED_NOTE), approve)
    assert status(session) == {"t2.s1": "finished", "t2.s2": "finished", "t2.s7": "planned"}
    assert [action.spec.id for action in next_batch(session.turn)] == ["t2.s7"]
    done = session_after(*changed(LOOK, CANCEL, CHANGED_NOTE), approve, c.Start(), finish_step("s7"))
    assert (done.phase, status(done)["t2.s7"]) == ("verifying", "finished")
    event = given(*changed(LOOK, CANCEL, CHANGED_NOTE)).when(approve).then_event()
    assert isinstance(event, facts.PlanApproved)
    assert event.already_done == ("t2.s1", "t2.s2")


def test_a_failed_step_runs_again_under_its_own_id() -> None:
    session = session_after(*changed(LOOK, CANCEL, NOTED.model_copy(update={"text": "Once more"})), approve)
    assert status(session) == {"t2.s1": "finished", "t2.s2": "finished", "t2.s6": "planned"}


def test_a_finished_step_cannot_be_edited() -> None:
    edited_cancel = CANCEL.model_copy(update={"arguments": {"order": "#W9"}})
    with pytest.raises(Invalid, match=r"Step 2 \(s2\) has already started"):
        session_after(*changed(LOOK, edited_cancel, CHANGED_NOTE))
    with pytest.raises(Invalid, match=r"Step 2 \(s2\) has already started"):
        session_after(
            *changed(LOOK, CANCEL, CHANGED_NOTE), reject, say("cancel the other one"), plan(LOOK, edited_cancel)
        )
    assert (
        session_after(*changed(LOOK, CANCEL.model_copy(update={"text": "Cancelled"}), CHANGED_NOTE)).phase
        == "awaiting_approval"
    )


FREE_NOTE = CHANGED_NOTE.model_copy(update={"after": ()})


def test_a_finished_step_that_a_version_dropped_can_come_back_as_it_ran() -> None:
    dropped = changed(LOOK, FREE_NOTE)
    back = (*dropped, edited(LOOK, CANCEL.model_copy(update={"text": "Cancelled"}), FREE_NOTE))
    session = session_after(*back, approve)
    assert status(session) == {"t2.s1": "finished", "t2.s2": "finished", "t2.s7": "planned"}
    event = given(*back).when(approve).then_event()
    assert isinstance(event, facts.PlanApproved)
    assert event.already_done == ("t2.s1", "t2.s2")
    another = CANCEL.model_copy(update={"arguments": {"order": "#W9"}})
    given(*dropped).when(edited(LOOK, another, FREE_NOTE)).refused(Invalid, "Step 2 (s2) has already started")
    twice = (*dropped, edited(FREE_NOTE), edited(LOOK, CANCEL, FREE_NOTE))
    assert session_after(*twice, approve).phase == "executing"


def test_the_same_change_under_a_new_id_is_noted() -> None:
    again = CANCEL.model_copy(update={"id": "s9"})
    for before in (changed(LOOK, FREE_NOTE), changed(LOOK, CANCEL, FREE_NOTE)):
        session = session_after(*before)
        assert changes_made(session)[change_key(again.tool, again.arguments)] == "s2 has made this change already."
    assert change_key(NOTED.tool, NOTED.arguments) not in changes_made(session), "it failed"
    assert {step.id for step in known_steps(session_after(*changed(FREE_NOTE)))} == {"s1", "s2", "s7"}


def test_a_step_with_an_unknown_outcome_needs_approval_to_run_again() -> None:
    uncertain = (
        *(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"), c.Start()),
        c.ReportUncertain(action_id="t2.s2", reason="it was ended"),
        c.Stop(),
    )
    session = session_after(*uncertain, edited(LOOK, CANCEL, CHANGED_NOTE), approve)
    assert session.phase == "awaiting_approval"
    assert [(a.spec.id, a.spec.approval_reason) for a in undecided_actions(session.turn)] == [
        ("t2.s2", "it may have been done already: nobody knows what became of it")
    ]


def test_a_denial_in_one_version_leaves_the_step_uncertain() -> None:
    uncertain = (
        *(*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"), c.Start()),
        c.ReportUncertain(action_id="t2.s2", reason="it was ended"),
        c.Stop(),
        *(edited(LOOK, CANCEL, CHANGED_NOTE), approve, c.Reject(action_id="t2.s2")),
        *(verdict("complete", "failure"), c.GiveAnswer(text="Not all.", confidence=0)),
    )
    session = session_after(*uncertain, edited(LOOK, CANCEL), approve)
    assert [action.spec.id for action in undecided_actions(session.turn)] == ["t2.s2"]


def test_a_step_whose_failure_is_recorded_late_runs_again() -> None:
    stopped = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1"), c.Start(), c.Stop())
    session = session_after(*stopped, edited(LOOK, CANCEL, CHANGED_NOTE), finish_step("s2", ok=False), approve)
    assert (session.phase, status(session)["t2.s2"], undecided_actions(session.turn)) == ("executing", "planned", ())


# --- after a failed step: retry, skip, change

FAILURE = (verdict("complete", "failure"), c.GiveAnswer(text="One of two.", confidence=0))
FAILED_PLAN = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1", ok=False), *FAILURE)


def attempts(session: Session) -> dict[str, int]:
    return {action.spec.id: action.attempt for action in session.turn.actions} if session.turn else {}


def test_a_retry_runs_the_failed_step_again_and_then_the_rest() -> None:
    stuck = session_after(*FAILED_PLAN)
    assert (stuck.phase, stuck.plan and stuck.plan.status) == ("resting", "failed")
    again = session_after(*FAILED_PLAN, c.Retry())
    assert (again.phase, again.plan and again.plan.status) == ("executing", "executing")
    assert (status(again)["t2.s1"], attempts(again)) == ("planned", {"t2.s1": 2, "t2.s2": 1})
    second_end = finish_action(action_id="t2.s1", attempt=2, ok=True, result={"price": 20})
    rest = (c.Start(), second_end, c.Start(), finish_step("s2"), verdict(), c.GiveAnswer(text="Done.", confidence=1))
    done = session_after(*FAILED_PLAN, c.Retry(), *rest)
    assert (done.phase, done.plan and done.plan.status) == ("resting", "completed")
    with pytest.raises(OutOfTurn, match="nothing to retry"):
        session_after(*FAILED_PLAN, c.Retry(), *rest, c.Retry())


def test_a_retry_after_a_denial_asks_again_with_newly_resolved_values() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve, c.Reject(action_id="t2.s4"))
    again = session_after(*lines, *FAILURE, c.Retry())
    assert again.turn
    pay = again.turn.actions[1]
    assert (pay.status, pay.attempt, is_unresolved(again, pay.spec)) == ("planned", 1, True)
    asked = session_after(*lines, *FAILURE, c.Retry(), resolve)
    assert asked.phase == "awaiting_approval"


def test_an_irreversible_step_needs_approval_before_it_runs_again() -> None:
    burn = LOOK.model_copy(update={"effect": "irreversible", "tool": "burn"})
    again = session_after(*DRAFTED, plan(burn), approve, c.Start(), finish_step("s1", ok=False), *FAILURE, c.Retry())
    assert again.phase == "awaiting_approval"
    assert [a.spec.approval_reason for a in undecided_actions(again.turn)] == [
        "it cannot be undone, and has been tried before"
    ]


def test_a_retry_asks_again_about_a_step_left_uncertain() -> None:
    uncertain = (*DRAFTED, plan(CANCEL.model_copy(update={"after": ()})), approve, c.Start())
    lines = (
        *uncertain,
        c.ReportUncertain(action_id="t2.s2", attempt=1, reason="crashed"),
        c.Answer(text="Leave it"),
        *FAILURE,
    )
    with pytest.raises(OutOfTurn, match="not known whether"):
        session_after(*lines, c.Skip(action_id="t2.s2"))
    asked = session_after(*lines, c.Retry())
    assert (asked.phase, asked.question and asked.question.about) == ("awaiting_input", "uncertain")
    assert attempts(asked) == {"t2.s2": 1}


def test_a_skipped_step_blocks_only_steps_that_use_its_output() -> None:
    without = session_after(*FAILED_PLAN, c.Skip(action_id="t2.s1"))
    assert (without.phase, status(without)) == ("executing", {"t2.s1": "skipped", "t2.s2": "planned"})
    uses = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1", ok=False), *FAILURE)
    with pytest.raises(Invalid, match=r"is used by “Pay it back” \(s4\)"):
        session_after(*uses, c.Skip(action_id="t2.s1"))
    first = session_after(*uses, c.Skip(action_id="t2.s4"))
    assert first.phase == "resting"
    both = session_after(*uses, c.Skip(action_id="t2.s4"), c.Skip(action_id="t2.s1"))
    assert (both.phase, set(status(both).values())) == ("verifying", {"skipped"})


def test_a_step_can_be_skipped_before_it_starts() -> None:
    session = session_after(
        *DRAFTED, plan(LOOK, CANCEL), approve, c.Skip(action_id="t2.s2"), c.Start(), finish_step("s1")
    )
    assert (session.phase, status(session)) == ("verifying", {"t2.s1": "finished", "t2.s2": "skipped"})
    for action_id in ("t2.s1", "t2.s2"):
        with pytest.raises(OutOfTurn, match="too late to skip"):
            session_after(
                *DRAFTED, plan(LOOK, CANCEL), approve, c.Skip(action_id="t2.s2"), c.Start(), c.Skip(action_id=action_id)
            )


def test_skipping_a_step_does_not_resume_a_stopped_plan() -> None:
    lines = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), c.Stop())
    late = finish_action(action_id="t2.s1", ok=False, cause="stopped")
    stopped = session_after(*lines, late, c.Skip(action_id="t2.s1"))
    assert (stopped.phase, stopped.rest_reason) == ("resting", "stopped")
    again = session_after(*lines, late, c.Skip(action_id="t2.s1"), c.Retry())
    assert (again.phase, status(again)) == ("executing", {"t2.s1": "skipped", "t2.s2": "planned"})


def test_messages_at_rest_are_about_the_plan_until_it_ends() -> None:
    new = LOOK.model_copy(update={"id": "s6", "tool": "find_order"})
    changed = session_after(
        *FAILED_PLAN, say("look it up by name instead"), plan(new, CANCEL.model_copy(update={"after": ("s6",)}))
    )
    assert changed.plan
    assert (changed.plan.task, changed.phase, changed.words.request) == ("t2", "awaiting_approval", "cancel my order")
    done = (c.Complete(), say("another thing"), plan(LOOK))
    assert session_after(*FAILED_PLAN, *done).task != "t2"
