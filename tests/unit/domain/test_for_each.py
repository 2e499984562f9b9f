"""Steps that are done for each item of a list: expanded when it is known, asked about, gathered, retried."""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Step
from shared.domain import commands as c
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.for_each import MOST_ACTIONS, MOST_ITEMS, expanded, items_of
from shared.domain.plan_steps import GATHER, needs, problems, unresolved
from shared.domain.session import Session, undecided
from shared.domain.waves import ready
from shared.story import finish
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


def begun(*steps: Step) -> tuple[StoryLine, ...]:
    plan = c.DraftPlan(goal="All orders", steps=steps, kind="execution")
    return (request("execution_plan"), plan, approve, c.Start(), ended("s1"))


def ended(step: str, *, ok: bool = True, result: Any = "x") -> c.Finish:
    return finish(action_id=f"t2.{step}", ok=ok, result=result)


def spec_of(session: Session, step: str) -> ActionSpec:
    assert session.turn
    return next(action.spec for action in session.turn.actions if action.spec.id == f"t2.{step}")


def expand(step: str, *orders: str) -> Any:
    """What the executor does when the list is known."""

    def change(session: Session) -> c.ChangeTurn:
        return c.ChangeTurn(actions=expanded(spec_of(session, step), [{"order": order} for order in orders]))

    return change


def told(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def status(session: Session) -> dict[str, str]:
    return {a.spec.id.removeprefix("t2."): a.status for a in session.turn.actions} if session.turn else {}


def wave(session: Session) -> list[str]:
    return [action.spec.id.removeprefix("t2.") for action in ready(session.turn)]


def test_a_step_is_done_for_each_item_and_gathers_what_they_give() -> None:
    lines = begun(LIST, LOOK, SUM)
    assert needs(LOOK) == ("s1",)
    known = told(*lines)
    assert unresolved(known, spec_of(known, "s2"))
    given(*lines).when(c.Start()).refused(OutOfTurn, "references stand for")
    done = told(*lines, expand("s2", "#1", "#2"))
    assert list(status(done)) == ["s1", "s2[0]", "s2[1]", "s2", "s4"]
    assert wave(done) == ["s2[0]", "s2[1]"]
    looked = told(c.Start(), ended("s2[0]"), ended("s2[1]"), begin=done)
    assert wave(looked) == ["s2"]
    assert looked.turn
    gathers = next(action for action in looked.turn.actions if action.spec.id == "t2.s2")
    assert (gathers.spec.tool, gathers.spec.effect) == (GATHER, "read")
    assert [item and item.result for item in items_of(looked, gathers)] == ["x", "x"]
    assert wave(told(c.Start(), ended("s2", result=["x", "x"]), begin=looked)) == ["s4"]


def test_a_list_without_items_is_gathered_at_once() -> None:
    assert wave(told(*begun(LIST, LOOK), expand("s2"))) == ["s2"]


def test_a_change_is_asked_about_for_each_item_whatever_the_plan_shows() -> None:
    literal = CANCEL.model_copy(update={"arguments": {"order": "#1"}})
    for step in (CANCEL, literal):
        asked = told(*begun(LIST, step), expand("s3", "#1", "#1"))
        assert asked.phase == "awaiting_approval"
        assert [action.spec.id for action in undecided(asked.turn)] == ["t2.s3[0]", "t2.s3[1]"]
    allowed = told(allow("t2.s3[0]"), c.Reject(action_id="t2.s3[1]"), begin=asked)
    assert status(allowed)["s3[1]"] == "denied"
    assert allowed.phase != "executing", "what was declined holds the plan up"
    always = told(*begun(LIST, LOOK), c.Remember(tool=GATHER, policy="always"), expand("s2", "#1"))
    assert always.phase == "executing"


def test_nothing_but_its_own_calls_may_come_in() -> None:
    lines = begun(LIST, LOOK, CANCEL)
    calls = expand("s2", "#1", "#2")(told(*lines)).actions
    first, second, gathers = calls

    def refuses(*actions: ActionSpec, why: str) -> None:
        given(*lines).when(c.ChangeTurn(actions=actions)).refused(Invalid, why)

    other = {"tool": "cancel"}
    refuses(first.model_copy(update=other), second, gathers, why="another step")
    refuses(first.model_copy(update={"effect": "write"}), second, gathers, why="another step")
    refuses(first.model_copy(update={"depends_on": ()}), second, gathers, why="another step")
    refuses(first, gathers, why="no step that is now done for each")
    refuses(first, second, why="is no step that is still to begin")
    refuses(first, second, gathers.model_copy(update={"arguments": {"x": 1}}), why="another step")
    extra = second.model_copy(update={"id": "t2.s2[2]"})
    refuses(first, second, extra, gathers, why="is no step that is still to begin")
    plain = Step(text="Tell", tool="tell", id="s4", effect="read", arguments={"of": "{{steps.s1.output}}"})
    not_each = spec_of(told(*begun(LIST, plain)), "s4")
    bad = c.ChangeTurn(actions=expanded(not_each, [{"of": 1}]))
    given(*begun(LIST, plain)).when(bad).refused(Invalid, "no step that is now done for each")
    given(*lines).when(expand("s2", *["#1"] * (MOST_ITEMS + 1))).refused(Invalid, "may be 50 times")
    again = given(*lines, expand("s2", "#1"))
    again.when(c.ChangeTurn(actions=calls)).refused(Invalid, "another step")


def test_a_plan_may_have_only_so_many_calls() -> None:
    steps = [LOOK.model_copy(update={"id": f"x{number}"}) for number in range(MOST_ACTIONS // MOST_ITEMS + 1)]
    lines: list[StoryLine] = [*begun(LIST, *steps)]
    for step in steps[:-2]:
        lines.append(expand(str(step.id), *["#1"] * MOST_ITEMS))
    given(*lines).when(expand(str(steps[-1].id), *["#1"] * MOST_ITEMS)).refused(Invalid, "may have 400")


def test_what_failed_is_retried_and_what_was_done_is_not() -> None:
    failed = told(
        *begun(LIST, LOOK, SUM), expand("s2", "#1", "#2"), c.Start(), ended("s2[0]"), ended("s2[1]", ok=False)
    )
    rests = told(verdict(status="failure"), c.GiveAnswer(text="No.", confidence=0), begin=failed)
    assert status(rests) == {"s1": "finished", "s2[0]": "finished", "s2[1]": "failed", "s2": "skipped", "s4": "skipped"}
    again = told(c.Retry(), begin=rests)
    assert wave(again) == ["s2[1]"]
    assert spec_of(again, "s2[1]").arguments == {"order": "#2"}
    assert wave(told(c.Start(), finish(action_id="t2.s2[1]", ok=True, attempt=2), begin=again)) == ["s2"]
    left = told(c.Skip(action_id="t2.s2[1]"), begin=rests)
    assert wave(left) == ["s2"]
    given(begin=told(*begun(LIST, LOOK), expand("s2", "#1"))).when(c.Skip(action_id="t2.s2")).refused(
        Invalid, "skip those that shall be left out"
    )


def test_a_later_version_does_not_do_again_what_was_done() -> None:
    half = (*begun(LIST, CANCEL), expand("s3", "#1", "#2"), allow("t2.s3[0]"))
    half = (*half, allow("t2.s3[1]"), c.Start(), ended("s3[0]"), ended("s3[1]", ok=False))
    rests = told(*half, verdict(status="failure"), c.GiveAnswer(text="No.", confidence=0))
    assert rests.plan
    other = CANCEL.model_copy(update={"arguments": {"order": "{{item.number}}"}})
    edit = c.EditPlan(base=rests.plan.version, steps=(LIST, other))
    given(begin=rests).when(edit).refused(Invalid, "has been begun")
    more = Step(text="Tell", tool="look", id="s9", effect="read", after=("s3",))
    edited = told(c.EditPlan(base=rests.plan.version, steps=(LIST, CANCEL, more)), approve, begin=rests)
    assert status(edited) == {"s1": "finished", "s3": "planned", "s9": "planned"}
    on = told(expand("s3", "#1", "#2"), begin=edited)
    assert (status(on)["s3[0]"], status(on)["s3[1]"]) == ("skipped", "planned")
    assert [action.spec.id for action in undecided(on.turn)] == ["t2.s3[1]"]
    again = finish(action_id="t2.s3[1]", attempt=2, result="y")
    done = told(allow("t2.s3[1]"), c.Start(), again, begin=on)
    assert done.turn
    gathers = next(action for action in done.turn.actions if action.spec.id == "t2.s3")
    assert [item and item.result for item in items_of(done, gathers)] == ["x", "y"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (LOOK.model_copy(update={"for_each": None}), "refers to an item"),
        (LOOK.model_copy(update={"for_each": "all orders"}), "no reference to a list"),
        (LOOK.model_copy(update={"for_each": "{{item}}"}), "no reference to a list"),
        (LOOK.model_copy(update={"for_each": "the {{steps.s1.output}}"}), "no reference to a list"),
        (LOOK.model_copy(update={"for_each": "{{steps.s7.output}}"}), "depends on s7, which is no step"),
        (LOOK.model_copy(update={"waits_for": "time"}), "waits, and cannot be done for each"),
        (LOOK.model_copy(update={"arguments": {"order": "{{item id}}"}}), "which is no reference"),
    ],
)
def test_what_is_wrong_is_said_in_the_draft(step: Step, why: str) -> None:
    assert why in " ".join(problems([LIST, step]))
    assert problems([LIST, LOOK, SUM]) == ()


def test_a_call_for_an_item_that_a_policy_denied_is_ruled_anew_by_a_retry() -> None:
    denied = (c.Remember(tool="cancel", policy="deny"), expand("s3", "#1"), verdict("complete", "failure"))
    stuck = (*begun(LIST, CANCEL), *denied, c.GiveAnswer(text="Not done.", confidence=0))
    assert status(told(*stuck))["s3[0]"] == "denied"
    still = told(*stuck, c.Retry(), c.Start())
    assert (still.phase, status(still)["s3[0]"]) == ("verifying", "denied")
    asked = told(*stuck, c.Remember(tool="cancel", policy="writes"), c.Retry(), c.Start())
    assert [action.spec.id for action in undecided(asked.turn)] == ["t2.s3[0]"]
    begun_again = (
        *stuck,
        c.Remember(tool="cancel", policy="writes"),
        c.Retry(),
        c.Start(),
        allow("t2.s3[0]"),
        c.Start(),
    )
    assert spec_of(told(*stuck), "s3").tool == GATHER  # what gathers the results was ended by the event that made it so
    done = told(*begun_again, ended("s3[0]"), c.Start(), ended("s3", result=["x"]))
    assert status(done) == {"s1": "finished", "s3[0]": "finished", "s3": "finished"}
