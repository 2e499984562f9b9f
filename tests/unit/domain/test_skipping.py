"""Steps that a user skips: alone, with their dependents, or with an output that replaces the step's."""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.rules.admissible import admissible
from shared.domain.steps.for_each import items_of
from shared.domain.steps.skipping import MAX_OUTPUT_BYTES, dependents_of
from shared.domain.turn.batches import find_action, next_batch
from tests.unit.domain.spec import StoryLine, act, approve, given, request, turn
from tests.unit.domain.test_execution_plan import (
    CANCEL,
    DRAFTED,
    FAILURE,
    LOOK,
    NOTE,
    PAY,
    attempts,
    edited,
    finish_step,
    plan,
    session_after,
    status,
)
from tests.unit.domain.test_for_each import approved_plan as begun_for_each
from tests.unit.domain.test_for_each import expand

FILE_NOTE = Step(text="File the note", tool="file", id="s5", effect="write", arguments={"n": "{{steps.s3.output}}"})
CANCEL_LATER = CANCEL.model_copy(update={"id": "s6", "after": ("s5",)})
STUCK: tuple[StoryLine, ...] = (
    *DRAFTED,
    plan(LOOK, NOTE, FILE_NOTE, CANCEL_LATER),
    approve,
    c.Start(),
    finish_step("s1", ok=False),
    *FAILURE,
)
PRICE: dict[str, Any] = {"price": 12}


def resolved(session: Session) -> c.ChangeTurn:
    """The executor's command: the references to s1 resolve to the price in its output."""
    first = find_action(session, "t2.s1")
    assert first
    assert isinstance(first.result, dict)
    value = first.result["price"]
    specs: list[ActionSpec] = [action.spec for action in next_batch(session.turn)]
    return c.ChangeTurn(
        actions=tuple(spec.model_copy(update={"arguments": dict.fromkeys(spec.arguments, value)}) for spec in specs)
    )


def skip(step: str, **options: Any) -> c.Skip:
    return c.Skip(action_id=f"t2.{step}", **options)


# --- skipped with an output


def test_steps_that_refer_to_a_given_output_can_run() -> None:
    stuck = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1", ok=False), *FAILURE)
    skipping = given(*stuck).when(skip("s1", output=PRICE))
    after = skipping.then("action.skipped", output=PRICE, reason="the person gave its output instead")
    session = after.leaves("executing", "executor").session
    action = find_action(session, "t2.s1")
    assert action
    assert (action.status, action.given, action.result, action.is_left_out) == ("skipped", True, PRICE, True)
    asked = session_after(*stuck, skip("s1", output=PRICE), resolved)
    assert [a.spec.arguments for a in undecided_actions(asked.turn)] == [
        {"sum": 12}
    ]  # the approval shows the resolved value


def test_an_output_can_be_given_before_the_step_begins_and_may_be_any_value_or_text() -> None:
    for output in ({"a": [1, None]}, [1, 2], "as I remember it", 0, False, ""):
        session = session_after(*DRAFTED, plan(LOOK, PAY), approve, skip("s1", output=output))
        action = find_action(session, "t2.s1")
        assert action
        assert (action.given, action.result, status(session)["t2.s4"]) == (True, output, "planned")


def test_an_output_is_given_once_before_the_end_and_within_limits() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve)
    with pytest.raises(OutOfTurn, match="too late"):
        session_after(*lines, c.Start(), skip("s1", output=1))
    with pytest.raises(OutOfTurn, match="too late"):
        session_after(*lines, skip("s1", output=1), skip("s1", output=2))
    with pytest.raises(Invalid, match="give only what later steps refer to"):
        session_after(*lines, skip("s1", output="x" * MAX_OUTPUT_BYTES))
    with pytest.raises(Invalid, match="not both"):
        session_after(*lines, skip("s1", output=1, with_dependents=True))
    started = (*DRAFTED, plan(CANCEL.model_copy(update={"after": ()})), approve, c.Start())
    with pytest.raises(OutOfTurn, match="not known whether"):
        session_after(
            *started,
            c.ReportUncertain(action_id="t2.s2", reason="crashed"),
            c.Answer(text="Leave it"),
            skip("s2", output=1),
        )


def test_a_given_output_is_kept_and_its_step_cannot_change() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, skip("s1", output=PRICE), c.Stop())
    new = LOOK.model_copy(update={"id": "s9", "tool": "get_price"})
    again = session_after(*lines, edited(LOOK, PAY, new), approve)
    first = find_action(again, "t2.s1")
    assert first
    assert (first.given, first.result, [a.spec.id for a in next_batch(again.turn)]) == (True, PRICE, ["t2.s4", "t2.s9"])
    other = LOOK.model_copy(update={"arguments": {"order": "#W2"}})
    with pytest.raises(Invalid, match=r"Step 1 \(s1\) has the output that you gave"):
        session_after(*lines, edited(other, PAY))


def test_an_output_can_be_given_for_one_item_and_stays_given_in_the_next_version() -> None:
    each = LOOK.model_copy(
        update={
            "id": "s2",
            "tool": "look",
            "arguments": {"order": "{{item}}"},
            "for_each": "{{steps.s1.output.orders}}",
        }
    )
    first = Step(text="List", tool="list", id="s1", effect="read")
    lines = (*begun_for_each(first, each), expand("s2", "#1", "#2"), c.Start())
    lines = (*lines, finish_step("s2[0]", ok=False), finish_step("s2[1]", result="y"), *FAILURE)
    session = session_after(*lines, skip("s2[0]", output="mine"))
    assert session.turn
    gathers = next(action for action in session.turn.actions if action.spec.id == "t2.s2")
    assert [item and item.result for item in items_of(session, gathers)] == ["mine", "y"]
    new = LOOK.model_copy(update={"id": "s9"})
    # The next version expands the list again, but does not repeat items that are done or have a given output.
    again = (skip("s2[0]", output="mine"), c.Stop(), edited(first, each, new), approve, expand("s2", "#1", "#2"))
    later = session_after(*lines, *again)
    assert {name: state for name, state in status(later).items() if "[" in name} == {
        "t2.s2[0]": "skipped",
        "t2.s2[1]": "skipped",
    }
    gathers = next(action for action in later.turn.actions if action.spec.id == "t2.s2") if later.turn else gathers
    assert [item and item.result for item in items_of(later, gathers)] == ["mine", "y"]


# --- skipped with dependents


def test_refusing_a_skip_names_the_dependents_and_the_options() -> None:
    why = r"“Note the price” \(s3\), “File the note” \(s5\).*with_dependents.*output"
    with pytest.raises(Invalid, match=why):
        session_after(*STUCK, skip("s1"))


def test_dependents_are_skipped_in_one_event_and_other_later_steps_run() -> None:
    after = given(*STUCK).when(skip("s1", with_dependents=True))
    session = after.then("action.skipped", dependents=("t2.s3", "t2.s5"), output=None).session
    assert status(session) == {"t2.s1": "skipped", "t2.s3": "skipped", "t2.s5": "skipped", "t2.s6": "planned"}
    assert (session.phase, [a.spec.id for a in next_batch(session.turn)]) == ("executing", ["t2.s6"])
    third = find_action(session, "t2.s3")
    assert third
    assert third.explanation == "skipped with the step whose output it uses"


def test_a_published_event_cannot_skip_running_or_finished_steps() -> None:
    session = session_after(*DRAFTED, plan(LOOK, NOTE), approve, c.Start())
    event = given(*DRAFTED, plan(LOOK, NOTE), approve, c.Start()).when(skip("s3")).then_event()
    assert admissible(session, event) == ""
    assert "not a step that can be skipped" in admissible(session, event.model_copy(update={"dependents": ("t2.s1",)}))
    assert "not a step that can be skipped" in admissible(session, event.model_copy(update={"dependents": ("t9.s1",)}))


def test_outputs_and_dependents_are_refused_outside_of_execution_plans() -> None:
    started = (request("agentflow"), turn(act("1.1", effect="write")))
    for fields in ({"output": 1}, {"with_dependents": True}):
        with pytest.raises(Invalid, match="Only for a step of an execution plan"):
            session_after(*started, c.Skip(action_id="1.1", **fields))


def test_retry_keeps_given_outputs() -> None:
    stopped = (
        *DRAFTED,
        plan(LOOK, CANCEL),
        approve,
        skip("s1", output=1),
        c.Start(),
        finish_step("s2", ok=False),
        *FAILURE,
    )
    again = session_after(*stopped, c.Retry())
    assert (status(again), attempts(again)) == ({"t2.s1": "skipped", "t2.s2": "planned"}, {"t2.s1": 1, "t2.s2": 2})


def test_before_a_plan_runs_there_are_no_dependents_to_skip() -> None:
    assert dependents_of(session_after(*DRAFTED, plan(LOOK, PAY)), LOOK) == ()
    started = session_after(*DRAFTED, plan(LOOK, NOTE, FILE_NOTE, PAY), approve)
    assert [step.id for step in dependents_of(started, LOOK)] == ["s3", "s5", "s4"]
    assert [step.id for step in dependents_of(started, NOTE)] == ["s5"]


def test_a_step_skipped_without_an_output_runs_in_the_next_version() -> None:
    new = LOOK.model_copy(update={"id": "s9"})
    session = session_after(*DRAFTED, plan(LOOK, CANCEL), approve, skip("s2"), edited(LOOK, CANCEL, new), approve)
    assert status(session) == {"t2.s1": "planned", "t2.s2": "planned", "t2.s9": "planned"}
