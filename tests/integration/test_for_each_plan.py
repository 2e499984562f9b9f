"""A step for each item of a list, with the real executor: expansion, approval, gathering, retries."""

from typing import Any

from services.planner.execution_plan_prompt import StepDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import undecided_actions
from shared.settings import Settings
from tests.integration.test_waiting_plan import approved_plan, results

LIST = "import json\nprint(json.dumps({'notes': [{'name': f'{n}.md', 'text': 'x' * n} for n in range(1, 4)]}))"


def step(number: int, tool: str, for_each: str | None = None, **arguments: Any) -> StepDraft:
    return StepDraft(id=f"s{number}", tool=tool, arguments=arguments, text=f"Step {number}", for_each=for_each)


async def test_steps_write_and_read_each_item_and_a_later_step_gets_all_results(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    listed = step(1, "run_program", code=LIST)
    write = step(2, "write_file", "{{steps.s1.output.notes}}", name="{{item.name}}", text="{{item.text}}")
    read = step(3, "read_file", "{{steps.s2.output}}", name="{{item.name}}")
    total = step(4, "run_program", code="print(len(input()))", inputs={"all": "{{steps.s3.output}}"})
    async with approved_plan(settings, bus, session_id, listed, write, read, total) as ann:
        session = await ann.phase("awaiting_approval", "failed")
        assert [action.spec.arguments["name"] for action in undecided_actions(session.turn)] == ["1.md", "2.md", "3.md"]
        for action in undecided_actions(session.turn):
            now = (await ann.load()).session
            await ann.does(c.Approve(version=now.version, action_id=action.spec.id, hash=action.hash))
        ended = await ann.phase("resting", "failed")
        assert ended.plan
        assert ended.plan.status == "completed", ended.answer.text
        assert [result["name"] for result in results(ended)["s2"]] == ["1.md", "2.md", "3.md"]
        assert [result["text"] for result in results(ended)["s3"]] == ["x", "xx", "xxx"]
        assert results(ended)["s4"] > 100


async def test_a_step_for_a_list_of_more_than_50_items_fails_before_it_begins(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    long_list = step(1, "run_program", code="import json\nprint(json.dumps(list(range(51))))")
    each = step(2, "read_file", "{{steps.s1.output}}", name="{{item}}")
    async with approved_plan(settings, bus, session_id, long_list, each) as ann:
        session = await ann.phase("resting", "failed")
        assert session.turn
        assert session.turn.actions[1].error == "{{steps.s1.output}} has 51 items, and a step can be done for 50."


async def test_a_failing_item_is_reported_and_the_others_are_done(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    names = step(1, "run_program", code='print(\'["a.md", "b.md"]\')')
    write = step(5, "write_file", name="a.md", text="x")
    each = step(2, "read_file", "{{steps.s1.output}}", name="{{item}}").model_copy(update={"after": ["s5"]})
    async with approved_plan(settings, bus, session_id, names, write, each) as ann:
        session = await ann.phase("resting", "failed")
        assert session.turn
        status = {action.spec.id.partition(".")[2]: action.status for action in session.turn.actions}
        assert (status["s2[0]"], status["s2[1]"], status["s2"]) == ("finished", "failed", "skipped")
        await ann.does(c.Skip(action_id=next(a.spec.id for a in session.turn.actions if a.status == "failed")))
        skipped = await ann.phase("resting", "failed")
        assert [result and result["text"] for result in results(skipped)["s2"]] == ["x", None]
