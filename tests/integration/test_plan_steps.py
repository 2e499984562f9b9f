"""Steps of plans with the real services and broker: they ask, wait, repeat for a list, use outputs, keep to budgets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from parley.events.values import Service
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, undecided_actions
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.stack import Person, open_session, running_plan_store, working

SERVICES: tuple[Service, ...] = ("planner", "executor", "verifier", "generator")


def step(number: int, tool: str, *after: str, for_each: str | None = None, **arguments: Any) -> StepDraft:
    text, afterwards = f"Step {number}", list(after)
    return StepDraft(id=f"s{number}", tool=tool, arguments=arguments, text=text, after=afterwards, for_each=for_each)


@asynccontextmanager
async def approved_plan(
    settings: Settings, bus: Bus, session_id: str, *steps: StepDraft, **limits: Any
) -> AsyncIterator[Person]:
    """The user of a session whose plan of these steps is approved. plan_store wakes it when a wait ends."""
    draft = StepsDraft(goal="Wait and ask", steps=list(steps))
    request = {"text": "Wait and ask", "workflow": "execution_plan"}
    async with (
        running_plan_store(settings),
        open_session(settings, bus, session_id, draft, **request, **limits) as (ann, _),
    ):
        await ann.approves()
        yield ann


def results(session: Session) -> dict[str, Any]:
    assert session.turn
    return {action.spec.id.rpartition(".")[2]: action.result for action in session.turn.actions}


async def test_a_plan_asks_the_user_waits_and_continues(settings: Settings, bus: Bus, session_id: str) -> None:
    question = step(1, "ask_person", question="Which tea?", options=["Green", "Black"])
    note = step(2, "write_file", name="tea.md", text="{{steps.s1.output}}")
    waits = step(3, "wait_until", seconds=1)
    after = step(4, "list_files", "s2", "s3")
    async with approved_plan(settings, bus, session_id, question, note, waits, after) as ann:
        paused = await ann.phase("awaiting_input")
        assert paused.question
        assert (paused.question.text, len(paused.question.options)) == ("Which tea?", 2)
        await ann.does(c.Answer(text="Green"))
        noting = await ann.allows()  # the approved plan did not contain the text
        (action,) = undecided_actions(noting.turn)
        assert action.spec.arguments["text"] == "Green"
        session = await ann.phase("resting", "failed")
        assert session.plan
        assert session.plan.status == "completed", session.answer.text
        assert results(session)["s4"]["files"] == [{"name": "tea.md", "size": 5}]
        assert datetime.fromisoformat(results(session)["s3"]["until"]) <= datetime.now(UTC)


async def test_a_wait_until_a_past_time_ends_at_once(settings: Settings, bus: Bus, session_id: str) -> None:
    past = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    async with approved_plan(settings, bus, session_id, step(1, "wait_until", until=past)) as ann:
        session = await ann.phase("resting", "failed")
        assert results(session) == {"s1": {"until": past}}


@pytest.mark.parametrize(("more", "why"), [({}, "It would wait longer than 90 days."), ({"seconds": 1}, "one of both")])
async def test_an_invalid_wait_is_refused_with_the_reason(
    settings: Settings, bus: Bus, session_id: str, more: dict[str, Any], why: str
) -> None:
    far = (datetime.now(UTC) + timedelta(days=100)).isoformat()
    async with approved_plan(settings, bus, session_id, step(1, "wait_until", until=far, **more)) as ann:
        session = await ann.phase("resting", "failed")
        assert session.turn
        assert why in session.turn.actions[0].error


async def test_a_wait_survives_a_restart_of_the_services(settings: Settings, bus: Bus, session_id: str) -> None:
    """The broker has the timer. If it fires while plan_store is down, the sweep of plan_store wakes the session."""
    async with approved_plan(settings, bus, session_id, step(1, "wait_until", seconds=3)) as ann:
        waiting = await ann.phase("waiting")
    assert waiting.turn
    until = waiting.turn.actions[0].until
    assert until
    await asyncio.sleep(max((until - datetime.now(UTC)).total_seconds(), 0))  # the timer fires without plan_store
    async with running_plan_store(settings), working(settings, ScriptedModel(), *SERVICES):
        outcome = await ann.phase("resting", "failed")
        assert results(outcome) == {"s1": {"until": until.isoformat()}}


LIST = "import json\nprint(json.dumps({'notes': [{'name': f'{n}.md', 'text': 'x' * n} for n in range(1, 4)]}))"


async def test_steps_write_and_read_each_item_and_a_later_step_gets_all_results(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    listed = step(1, "run_program", code=LIST)
    write = step(2, "write_file", for_each="{{steps.s1.output.notes}}", name="{{item.name}}", text="{{item.text}}")
    read = step(3, "read_file", for_each="{{steps.s2.output}}", name="{{item.name}}")
    total = step(4, "run_program", code="print(len(input()))", inputs={"all": "{{steps.s3.output}}"})
    async with approved_plan(settings, bus, session_id, listed, write, read, total) as ann:
        session = await ann.allows()
        assert [action.spec.arguments["name"] for action in undecided_actions(session.turn)] == ["1.md", "2.md", "3.md"]
        ended = await ann.phase("resting", "failed")
        assert ended.plan
        assert ended.plan.status == "completed", ended.answer.text
        assert [result["name"] for result in results(ended)["s2"]] == ["1.md", "2.md", "3.md"]
        assert [result["text"] for result in results(ended)["s3"]] == ["x", "xx", "xxx"]
        assert results(ended)["s4"] > 100


PROGRAM = "import json; print(json.dumps({}))"


@pytest.mark.parametrize(
    ("printed", "path", "problem"),
    [
        ("{'a': {'b': 'c'}}", ".a", "delete_file: name: must be text."),
        ("'../x'", "", "name: cannot be used"),
    ],
)
async def test_nobody_is_asked_about_a_call_that_its_tool_cannot_take(
    settings: Settings, bus: Bus, session_id: str, printed: str, path: str, problem: str
) -> None:
    makes = step(1, "run_program", code=PROGRAM.format(printed))
    deletes = step(2, "delete_file", name="{{steps.s1.output" + path + "}}")
    async with approved_plan(settings, bus, session_id, makes, deletes) as ann:
        ended = await ann.phase("resting", "awaiting_approval", "failed")
        assert ended.phase == "resting"
        assert ended.turn
        failed: Any = ended.turn.actions[1]
        assert (failed.status, problem in failed.spec.decision_reason) == ("denied", True), failed.spec.decision_reason


async def test_a_value_that_fits_is_asked_about(settings: Settings, bus: Bus, session_id: str) -> None:
    makes = step(1, "run_program", code=PROGRAM.format("{'a': 'b'}"))
    writes = step(2, "write_file", name="tea.md", text="{{steps.s1.output.a}}")
    async with approved_plan(settings, bus, session_id, makes, writes) as ann:
        assert (await ann.phase("resting", "awaiting_approval", "failed")).phase == "awaiting_approval"


async def test_a_plan_over_its_call_budget_asks_before_the_next_batch(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    """Both calls of the first batch end, although the budget allows only one."""
    steps = [
        *(step(number, "list_files") for number in (1, 2)),
        step(3, "write_file", "s1", "s2", name="a.md", text="{{steps.s1.output.bytes}} bytes"),
    ]
    async with approved_plan(settings, bus, session_id, *steps, call_budget=1) as ann:
        paused = await ann.phase("awaiting_input")
        assert paused.question
        assert (paused.question.about, paused.spent.tool_calls) == ("budget", 2)
        assert list(results(paused).values())[:2] == [{"files": [], "bytes": 0}] * 2
        await ann.does(c.Answer(text=paused.question.options[0].label))
        noting = await ann.allows()
        assert noting.settings.call_budget == 4
        ended = await ann.phase("resting", "failed")
        assert ended.plan
        assert (ended.plan.status, ended.spent.tool_calls) == ("completed", 3)
