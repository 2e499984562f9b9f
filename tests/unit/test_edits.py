"""A program or a plan is changed in parts: exactly, or not at all."""

from typing import Any

import pytest
from pydantic import BaseModel

from parley.events.values import Check, Step
from parley.protocol.tools import ToolPage
from services.generator.conversation import CodeDraft, EditsDraft, Replacement, edited, write_code
from services.generator.conversation import build_prompt as code_prompt
from services.generator.conversation import render_partial as shown_code
from services.planner.agentflow_prompt import render_partial as shown_actions
from services.planner.conversation import PlanDraft, TextChanges, TextStep, draft_plan
from services.planner.conversation import build_prompt as plan_prompt
from services.planner.conversation import render_partial as shown_plan
from services.planner.execution_plan import draft_steps
from services.planner.execution_plan_prompt import StepChanges, StepDraft, build_prompt
from services.planner.execution_plan_prompt import render_partial as shown_steps
from services.planner.flow_prompt import render_partial as shown_paths
from services.planner.plan_changes import refusal
from services.planner.tools import ToolChoice
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.unit.domain.spec import StoryLine, approve, edit_code, given, program, request, say
from tests.unit.test_handlers import work_context
from tests.unit.test_tool_choice import Catalogue

CODE = "".join(f"def take_{n}(sum_):\n    return sum_ - {n}\n\n\n" for n in range(20))
LAST = "    return sum_ - 7\n"
PLAN = c.DraftPlan(
    goal="a calculator",
    steps=(Step(id="s1", text="Ask"), Step(id="s2", text="Add"), Step(id="s3", text="Print")),
    notes="Whole numbers only.",
)
CODED: tuple[StoryLine, ...] = (say(), PLAN, approve, program(CODE), c.VerifyCode(checks=()), say("take 8"))
PLANNED: tuple[StoryLine, ...] = (say(), PLAN, say("other"))


def edits(*pairs: tuple[str, str], **more: Any) -> EditsDraft:
    return EditsDraft(edits=[Replacement(find=find, replace=new) for find, new in pairs], **more)


def changes(*changes_: dict[str, Any], **more: Any) -> TextChanges:
    return TextChanges.model_validate({"changes": changes_} | more)


# --- a program


async def test_edits_are_applied_one_after_the_other() -> None:
    reply = edits((LAST, LAST.replace("7", "70")), ("- 70", "- 700"), explanation="", wish="take 700")
    command = await write_code(work_context("generator", given(*CODED).session, reply))
    assert command == c.DraftCode(code=CODE.replace(LAST, LAST.replace("7", "700")), wish="take 700")


@pytest.mark.parametrize(
    ("code", "pair", "why"),
    [
        ("x = 1\nx = 1\n", ("x = 1", "x = 2"), "occurs 2 times"),
        ("aaa\n", ("aa", "b"), "occurs 2 times"),  # where they overlap, it is not clear which is meant
        ("x = 1\n", ("y", "z"), "begins “y”, occurs 0 times"),
        ("", ("y", "z"), "occurs 0 times"),
        ("x = 1\n", ("x", "x"), "change nothing"),
        ("x\n", ("x", " "), "leave no program"),
        ("x = 1\n", ("x", "y"), ""),
    ],
)
def test_edits_that_do_not_fit_exactly_are_refused(code: str, pair: tuple[str, str], why: str) -> None:
    after, refused = edited(code, edits(pair).edits)
    assert why in refused
    assert (bool(refused), after == code) == (bool(why), after != "y = 1\n")


async def test_after_edits_that_do_not_fit_the_model_is_asked_for_the_whole_program() -> None:
    context = work_context("generator", given(*CODED).session, edits(("return", "yield")), CodeDraft(code="print(8)"))
    assert await write_code(context) == c.DraftCode(code="print(8)\n")


async def test_edits_are_of_the_program_as_the_person_left_it() -> None:
    theirs = CODE.replace(LAST, "    return sum_ - 7  # mine\n    # and this\n")
    session = given(*CODED[:-1], edit_code(theirs), c.VerifyCode(checks=()), say("say mine twice")).session
    told = code_prompt(session, Settings())[-1]["content"]
    assert "The person wrote lines 30 to 31:\n    return sum_ - 7  # mine\n    # and this\n" in told
    command = await write_code(work_context("generator", session, edits(("# mine", "# mine, mine"))))
    assert command == c.DraftCode(code=theirs.replace("# mine", "# mine, mine"))


async def test_without_a_program_nothing_is_edited() -> None:
    with pytest.raises(ValueError, match="edits"):
        await write_code(work_context("generator", given(say(), PLAN, approve).session, edits(("a", "b"))))


# --- a plan in words


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        ([{"op": "replace", "id": "s2", "step": {"text": "Subtract"}}], ["s1 Ask", "s2 Subtract", "s3 Print"]),
        ([{"op": "insert", "after": "s1", "step": {"text": "Wait"}}], ["s1 Ask", "s4 Wait", "s2 Add", "s3 Print"]),
        ([{"op": "insert", "step": {"id": "s1", "text": "Go"}}], ["s4 Go", "s1 Ask", "s2 Add", "s3 Print"]),
        ([{"op": "remove", "id": "s2"}], ["s1 Ask", "s3 Print"]),
        ([{"op": "move", "id": "s1", "after": "s3"}], ["s2 Add", "s3 Print", "s1 Ask"]),
        ([{"op": "move", "id": "s3"}, {"op": "remove", "id": "s1"}], ["s3 Print", "s2 Add"]),
    ],
)
async def test_a_plan_in_words_is_changed_step_by_step(done: list[dict[str, Any]], expected: list[str]) -> None:
    command = await draft_plan(work_context("planner", given(*PLANNED).session, changes(*done)))
    assert isinstance(command, c.DraftPlan)
    assert [f"{step.id} {step.text}" for step in command.steps] == expected
    assert (command.goal, command.notes) == (PLAN.goal, PLAN.notes)


async def test_the_plan_of_an_approved_program_is_changed_and_its_steps_keep_their_ids() -> None:
    checked = c.VerifyCode(checks=(Check(name="tests", ok=True),))
    rests = given(say(), PLAN, approve, program("x = 1\n"), checked, approve, say("without adding"))
    reply = changes({"op": "remove", "id": "s2"})
    command = await draft_plan(work_context("planner", rests.session, reply))
    assert isinstance(command, c.DraftPlan)
    drafted = rests.when(command).then("plan.drafted").session.plan
    assert drafted
    assert [step.id for step in drafted.steps] == ["s1", "s3"]


async def test_a_step_that_comes_for_one_that_the_person_wrote_is_another_step() -> None:
    written = (*PLAN.steps[:2], Step(id="s3", text="Say goodbye"))
    mine = given(say(), PLAN, c.EditPlan(base=2, steps=written), say("no goodbye"))
    reply = changes({"op": "remove", "id": "s3"}, {"op": "insert", "after": "s2", "step": {"text": "In colour"}})
    command = await draft_plan(work_context("planner", mine.session, reply))
    assert isinstance(command, c.DraftPlan)
    assert [step.id for step in command.steps] == ["s1", "s2", "s4"]
    mine.when(command).then("plan.drafted", drops=("Say goodbye",))


WRONG = [
    {"op": "remove", "id": "s9"},
    {"op": "move", "id": "s1", "after": "s1"},
    {"op": "insert", "after": "s9", "step": {"text": "x"}},
    {"op": "replace", "id": "s1"},
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_changes_of_what_is_not_there_are_refused_as_a_whole(wrong: dict[str, Any]) -> None:
    plan = PlanDraft(goal="again", steps=[TextStep(text="Start over")])
    context = work_context("planner", given(*PLANNED).session, changes({"op": "remove", "id": "s2"}, wrong), plan)
    command = await draft_plan(context)
    assert isinstance(command, c.DraftPlan)
    assert command.goal == "again"


def lines(count: int) -> tuple[Step, ...]:
    return tuple(Step(id=f"s{n}", text=f"Line {n}") for n in range(1, count + 1))


@pytest.mark.parametrize(
    ("steps", "change", "why"),
    [
        (lines(100), {"op": "insert", "after": "s100", "step": {"text": "One more"}}, "at most 100 items"),
        (lines(1), {"op": "replace", "id": "s1", "step": {"text": " "}}, "no step says anything"),
        (lines(1), {"op": "remove", "id": "s1"}, "at least 1 item"),
    ],
)
async def test_changes_that_lead_to_no_valid_plan_are_refused_with_the_reason(
    steps: tuple[Step, ...], change: dict[str, Any], why: str
) -> None:
    story = (say(), c.DraftPlan(goal="a list", steps=steps), say("other"))
    plan = PlanDraft(goal="again", steps=[TextStep(text="Start over")])
    context = work_context("planner", given(*story).session, changes(change), plan)
    command = await draft_plan(context)
    assert isinstance(command, c.DraftPlan)
    assert command.goal == "again"
    known = [TextStep(id=step.id or "", text=step.text) for step in steps]
    assert why in refusal(changes(change), context.session.plan, known, PlanDraft)


async def test_without_a_plan_nothing_is_changed() -> None:
    with pytest.raises(ValueError, match="changes"):
        await draft_plan(work_context("planner", given(say()).session, changes({"op": "remove", "id": "s1"})))


@pytest.mark.parametrize("name", ["edits", "changes", "steps", "actions", "paths"])
@pytest.mark.parametrize("value", [True, 1, 1.5, "word", {"op": "remove"}, None, [True, "", None, {"step": True}]])
def test_a_value_that_is_streamed_where_a_list_belongs_breaks_nothing(name: str, value: object) -> None:
    assert [shown({name: value}) for shown in (shown_code, shown_plan, shown_steps, shown_actions, shown_paths)] == [
        ""
    ] * 5


# --- a plan of tool calls


PRINTS = c.DraftPlan(
    kind="execution",
    goal="Print it",
    steps=(
        Step(id="s1", tool="print", text="Print it", arguments={"text": "{{steps.s2.output}}"}, after=("s2",)),
        Step(id="s2", tool="count", text="Count it", arguments={}),
    ),
)


async def planned(*replies: BaseModel) -> tuple[Any, ScriptedModel]:
    session = given(request("execution_plan", "print it"), PRINTS, say("count it first")).session
    context = work_context("planner", session, *replies)
    assert isinstance(context.deps.model, ScriptedModel)
    return await draft_steps(context, Catalogue(few=True)), context.deps.model


async def test_a_plan_of_calls_is_changed_in_the_same_way() -> None:
    reply = StepChanges.model_validate({"changes": [{"op": "move", "id": "s1", "after": "s2"}]})
    command, _ = await planned(reply)
    assert isinstance(command, c.DraftPlan), command
    assert [(step.id, step.tool, step.after) for step in command.steps] == [
        ("s2", "count", ()),
        ("s1", "print", ("s2",)),
    ]
    assert command.steps[1].arguments == {"text": "{{steps.s2.output}}"}


async def test_more_calls_than_a_plan_may_have_are_refused_with_the_reason() -> None:
    steps = [step.model_dump() for step in [a_step()] * 99]
    more = StepChanges.model_validate({"changes": [{"op": "insert", "after": "s2", "step": step} for step in steps]})
    command, model = await planned(more, StepChanges.model_validate({"changes": [{"op": "move", "id": "s1"}]}))
    assert isinstance(command, c.DraftPlan), command
    assert len(command.steps) == 2
    assert len(model.prompts) == 1, "asked again within the same call"


async def test_an_unknown_step_of_a_plan_of_calls_is_refused_with_the_reason() -> None:
    unknown = StepChanges.model_validate({"changes": [{"op": "remove", "id": "s7"}]})
    known = StepChanges.model_validate({"changes": [{"op": "insert", "after": "s2", "step": a_step().model_dump()}]})
    command, model = await planned(unknown, known)
    assert isinstance(command, c.DraftPlan), command
    assert [step.id for step in command.steps] == ["s1", "s2", "s3"]
    assert len(model.prompts) == 1, "asked again within the same call"


def a_step() -> StepDraft:
    return StepDraft(tool="count", text="Count again", arguments={})


# --- the person's own words


def test_the_steps_that_the_person_wrote_are_named() -> None:
    before = given(say(), PLAN).session
    assert before.plan
    steps = (PLAN.steps[0], Step(id="s2", text="Add twice"), PLAN.steps[2])
    session = given(c.EditPlan(base=before.plan.version, steps=steps), say("and?"), begin=before).session
    assert "s3. Print\n\nThe person wrote s2." in plan_prompt(session, Settings())[-1]["content"]


def test_the_calls_that_the_person_wrote_are_marked() -> None:
    own = tuple(step.model_copy(update={"text": "Count all"}) if step.id == "s2" else step for step in PRINTS.steps)
    story = given(request("execution_plan", "print it"), PRINTS).session
    assert story.plan
    change = c.EditPlan(base=story.plan.version, steps=own)
    session = given(change, say("go on"), begin=story).session
    text = build_prompt(session, Settings(), ToolChoice(ToolPage(tools=(), total=0)))[-1]["content"]
    assert text.count('"written_by": "person"') == 1
    assert '"text": "Count all", "after": [], "written_by": "person"' in text
