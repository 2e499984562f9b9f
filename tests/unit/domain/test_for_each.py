"""Steps that run for each item of a list: expansion, approval, gathered results, retries."""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.plan.validation import plan_problems
from shared.domain.steps.for_each import MAX_ITEMS, MAX_OPEN_ACTIONS, expand_items, items_of
from shared.domain.steps.plan_steps import GATHER, is_unresolved, required_steps
from shared.domain.turn.batches import next_batch
from shared.story import finish_action
from tests.unit.domain.spec import StoryLine, allow, approve, given, request, verdict

LIST = Step(text="List the orders", tool="list", id="s1", effect="read")
LOOK = Step(
    text="Look at each",
    tool="look",
    id="s2",
    effect="read",
    arguments={"order": "{{item.id}}"},
    for_each="{{steps.s1.output.orders}}",
)
CANCEL = LOOK.model_copy(update={"id": "s3", "tool": "cancel", "effect": "write", "text": "Cancel each"})
SUM = Step(text="Add up", tool="sum", id="s4", effect="read", arguments={"of": "{{steps.s2.output}}"})


def approved_plan(*steps: Step) -> tuple[StoryLine, ...]:
    plan = c.DraftPlan(goal="All orders", steps=steps, kind="execution")
    return (request("execution_plan"), plan, approve, c.Start(), finish_step("s1"))


def finish_step(step: str, *, ok: bool = True, result: Any = "x") -> c.Finish:
    return finish_action(action_id=f"t2.{step}", ok=ok, result=result)


def spec_of(session: Session, step: str) -> ActionSpec:
    assert session.turn
    return next(action.spec for action in session.turn.actions if action.spec.id == f"t2.{step}")


def expand(step: str, *orders: str) -> Any:
    """The command with which the executor expands a step into its items."""

    def change(session: Session) -> c.ChangeTurn:
        return c.ChangeTurn(actions=expand_items(spec_of(session, step), [{"order": order} for order in orders]))

    return change


def session_after(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def status(session: Session) -> dict[str, str]:
    return {a.spec.id.removeprefix("t2."): a.status for a in session.turn.actions} if session.turn else {}


def next_ids(session: Session) -> list[str]:
    return [action.spec.id.removeprefix("t2.") for action in next_batch(session.turn)]


def test_a_step_runs_for_each_item_and_gathers_the_results() -> None:
    lines = approved_plan(LIST, LOOK, SUM)
    assert required_steps(LOOK) == ("s1",)
    known = session_after(*lines)
    assert is_unresolved(known, spec_of(known, "s2"))
    given(*lines).when(c.Start()).refused(OutOfTurn, "values of its references")
    done = session_after(*lines, expand("s2", "#1", "#2"))
    assert list(status(done)) == ["s1", "s2[0]", "s2[1]", "s2", "s4"]
    assert next_ids(done) == ["s2[0]", "s2[1]"]
    looked = session_after(c.Start(), finish_step("s2[0]"), finish_step("s2[1]"), begin=done)
    assert next_ids(looked) == ["s2"]
    assert looked.turn
    gathers = next(action for action in looked.turn.actions if action.spec.id == "t2.s2")
    assert (gathers.spec.tool, gathers.spec.effect) == (GATHER, "read")
    assert [item and item.result for item in items_of(looked, gathers)] == ["x", "x"]
    assert next_ids(session_after(c.Start(), finish_step("s2", result=["x", "x"]), begin=looked)) == ["s4"]


def test_a_step_for_an_empty_list_only_gathers() -> None:
    assert next_ids(session_after(*approved_plan(LIST, LOOK), expand("s2"))) == ["s2"]


def test_a_write_needs_approval_for_each_item() -> None:
    literal = CANCEL.model_copy(update={"arguments": {"order": "#1"}})
    for step in (CANCEL, literal):
        asked = session_after(*approved_plan(LIST, step), expand("s3", "#1", "#1"))
        assert asked.phase == "awaiting_approval"
        assert [action.spec.id for action in undecided_actions(asked.turn)] == ["t2.s3[0]", "t2.s3[1]"]
    allowed = session_after(allow("t2.s3[0]"), c.Reject(action_id="t2.s3[1]"), begin=asked)
    assert status(allowed)["s3[1]"] == "denied"
    assert allowed.phase != "executing", "a declined item holds the plan up"
    always = session_after(*approved_plan(LIST, LOOK), c.Remember(tool=GATHER, policy="always"), expand("s2", "#1"))
    assert always.phase == "executing"


def test_a_step_expands_only_to_its_own_calls() -> None:
    lines = approved_plan(LIST, LOOK, CANCEL)
    calls = expand("s2", "#1", "#2")(session_after(*lines)).actions
    first, second, gathers = calls

    def check_refused(*actions: ActionSpec, why: str) -> None:
        given(*lines).when(c.ChangeTurn(actions=actions)).refused(Invalid, why)

    other = {"tool": "cancel"}
    check_refused(first.model_copy(update=other), second, gathers, why="another step")
    check_refused(first.model_copy(update={"effect": "write"}), second, gathers, why="another step")
    check_refused(first.model_copy(update={"depends_on": ()}), second, gathers, why="another step")
    check_refused(first, gathers, why="not a step that can now run for each")
    check_refused(first, second, why="is not a step that has yet to start")
    check_refused(first, second, gathers.model_copy(update={"arguments": {"x": 1}}), why="another step")
    extra = second.model_copy(update={"id": "t2.s2[2]"})
    check_refused(first, second, extra, gathers, why="is not a step that has yet to start")
    plain = Step(text="Tell", tool="tell", id="s4", effect="read", arguments={"of": "{{steps.s1.output}}"})
    not_each = spec_of(session_after(*approved_plan(LIST, plain)), "s4")
    bad = c.ChangeTurn(actions=expand_items(not_each, [{"of": 1}]))
    given(*approved_plan(LIST, plain)).when(bad).refused(Invalid, "not a step that can now run for each")
    given(*lines).when(expand("s2", *["#1"] * (MAX_ITEMS + 1))).refused(Invalid, "the limit is 50")
    again = given(*lines, expand("s2", "#1"))
    again.when(c.ChangeTurn(actions=calls)).refused(Invalid, "another step")


def test_the_number_of_open_calls_is_limited() -> None:
    steps = [LOOK.model_copy(update={"id": f"x{number}"}) for number in range(MAX_OPEN_ACTIONS // MAX_ITEMS + 1)]
    lines: list[StoryLine] = [*approved_plan(LIST, *steps)]
    for step in steps[:-2]:
        lines.append(expand(str(step.id), *["#1"] * MAX_ITEMS))
    given(*lines).when(expand(str(steps[-1].id), *["#1"] * MAX_ITEMS)).refused(Invalid, "the limit is 400")


def test_a_retry_repeats_only_the_failed_items() -> None:
    failed = session_after(
        *approved_plan(LIST, LOOK, SUM),
        expand("s2", "#1", "#2"),
        c.Start(),
        finish_step("s2[0]"),
        finish_step("s2[1]", ok=False),
    )
    rests = session_after(verdict(status="failure"), c.GiveAnswer(text="No.", confidence=0), begin=failed)
    assert status(rests) == {"s1": "finished", "s2[0]": "finished", "s2[1]": "failed", "s2": "skipped", "s4": "skipped"}
    again = session_after(c.Retry(), begin=rests)
    assert next_ids(again) == ["s2[1]"]
    assert spec_of(again, "s2[1]").arguments == {"order": "#2"}
    assert next_ids(session_after(c.Start(), finish_action(action_id="t2.s2[1]", ok=True, attempt=2), begin=again)) == [
        "s2"
    ]
    stopped = session_after(c.Skip(action_id="t2.s2[1]"), begin=rests)
    assert next_ids(stopped) == ["s2"]
    given(begin=session_after(*approved_plan(LIST, LOOK), expand("s2", "#1"))).when(c.Skip(action_id="t2.s2")).refused(
        Invalid, "skip the items that you want to leave out"
    )


def test_a_later_version_does_not_repeat_finished_items() -> None:
    half = (*approved_plan(LIST, CANCEL), expand("s3", "#1", "#2"), allow("t2.s3[0]"))
    half = (*half, allow("t2.s3[1]"), c.Start(), finish_step("s3[0]"), finish_step("s3[1]", ok=False))
    rests = session_after(*half, verdict(status="failure"), c.GiveAnswer(text="No.", confidence=0))
    assert rests.plan
    other = CANCEL.model_copy(update={"arguments": {"order": "{{item.number}}"}})
    edit = c.EditPlan(base=rests.plan.version, steps=(LIST, other))
    given(begin=rests).when(edit).refused(Invalid, "has already started")
    more = Step(text="Tell", tool="look", id="s9", effect="read", after=("s3",))
    edited = session_after(c.EditPlan(base=rests.plan.version, steps=(LIST, CANCEL, more)), approve, begin=rests)
    assert status(edited) == {"s1": "finished", "s3": "planned", "s9": "planned"}
    expanded = session_after(expand("s3", "#1", "#2"), begin=edited)
    assert (status(expanded)["s3[0]"], status(expanded)["s3[1]"]) == ("skipped", "planned")
    assert [action.spec.id for action in undecided_actions(expanded.turn)] == ["t2.s3[1]"]
    again = finish_action(action_id="t2.s3[1]", attempt=2, result="y")
    done = session_after(allow("t2.s3[1]"), c.Start(), again, begin=expanded)
    assert done.turn
    gathers = next(action for action in done.turn.actions if action.spec.id == "t2.s3")
    assert [item and item.result for item in items_of(done, gathers)] == ["x", "y"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (LOOK.model_copy(update={"for_each": None}), "refers to an item"),
        (LOOK.model_copy(update={"for_each": "all orders"}), "not a reference to a list"),
        (LOOK.model_copy(update={"for_each": "{{item}}"}), "not a reference to a list"),
        (LOOK.model_copy(update={"for_each": "the {{steps.s1.output}}"}), "not a reference to a list"),
        (LOOK.model_copy(update={"for_each": "{{steps.s7.output}}"}), "depends on s7, which is not a step of the plan"),
        (LOOK.model_copy(update={"waits_for": "time"}), "waits, and cannot be done for each"),
        (LOOK.model_copy(update={"arguments": {"order": "{{item id}}"}}), "which is not a reference"),
    ],
)
def test_drafts_with_invalid_for_each_steps_are_refused(step: Step, why: str) -> None:
    assert why in " ".join(plan_problems([LIST, step]))
    assert plan_problems([LIST, LOOK, SUM]) == ()


def test_a_retry_applies_the_current_policy_to_a_denied_item() -> None:
    denied = (c.Remember(tool="cancel", policy="deny"), expand("s3", "#1"), verdict("complete", "failure"))
    stuck = (*approved_plan(LIST, CANCEL), *denied, c.GiveAnswer(text="Not done.", confidence=0))
    assert status(session_after(*stuck))["s3[0]"] == "denied"
    still = session_after(*stuck, c.Retry(), c.Start())
    assert (still.phase, status(still)["s3[0]"]) == ("verifying", "denied")
    asked = session_after(*stuck, c.Remember(tool="cancel", policy="writes"), c.Retry(), c.Start())
    assert [action.spec.id for action in undecided_actions(asked.turn)] == ["t2.s3[0]"]
    begun_again = (
        *stuck,
        c.Remember(tool="cancel", policy="writes"),
        c.Retry(),
        c.Start(),
        allow("t2.s3[0]"),
        c.Start(),
    )
    # The event that expanded the step also ended its gathering action.
    assert spec_of(session_after(*stuck), "s3").tool == GATHER
    done = session_after(*begun_again, finish_step("s3[0]"), c.Start(), finish_step("s3", result=["x"]))
    assert status(done) == {"s1": "finished", "s3[0]": "finished", "s3": "finished"}
