"""The conversation workflow through the real services on a real bus, with the rehearsal model."""

from collections.abc import AsyncIterator

import pytest

from parley.events.values import Step
from rehearsal.app import build
from shared.bus import Bus
from shared.domain import commands as c
from shared.llm import ModelByTask
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from tests.support.http_client import http_client
from tests.support.needs import needs_landlock
from tests.support.serving import serving
from tests.support.stack import Person, working


@pytest.fixture
async def rehearsal() -> AsyncIterator[str]:
    async with serving(build(pace=0)) as url:
        yield url


@pytest.fixture
async def person(settings: Settings, bus: Bus, rehearsal: str, session_id: str) -> AsyncIterator[Person]:
    model = OpenAIModel(settings.model_copy(update={"openai_base_url": f"{rehearsal}/v1", "openai_model": "rehearsal"}))
    async with working(settings, model):
        yield Person(bus, session_id)
    await model.aclose()


async def reach_code_review(person: Person) -> None:
    await person.does(c.Say(text="Help me create a simple calculator"))
    plan = (await person.phase("awaiting_approval", "failed")).plan
    assert plan
    await person.does(c.Approve(version=plan.version, hash=plan.hash))
    await person.sees(lambda s: s.phase in ("awaiting_approval", "failed") and s.code is not None)


async def test_a_request_becomes_a_plan_code_and_a_run_and_the_next_request_follows(person: Person) -> None:
    await person.does(c.Say(text="Help me create a simple calculator"))
    first = (await person.phase("awaiting_approval")).plan
    assert first
    assert len(first.steps) >= 3

    await person.does(c.Say(text="Add a step to write a short help text"))
    second = (await person.sees(lambda s: s.counts.plans == 2 and s.is_awaiting_user)).plan
    assert second
    assert len(second.steps) == len(first.steps) + 1

    await person.does(c.EditPlan(base=second.version, steps=second.steps[:-1]))
    third = (await person.phase("awaiting_approval")).plan
    assert third
    await person.does(c.Approve(version=third.version, hash=third.hash))

    reviewed = await person.sees(lambda s: s.phase == "awaiting_approval" and s.code is not None)
    assert reviewed.code
    assert [(check.name, check.ok) for check in reviewed.code.checks] == [
        ("parses", True),
        ("lints", True),
        ("tests", True),
    ]
    await person.does(c.Say(text="Add support for floating point numbers"))
    floats = await person.sees(lambda s: s.counts.codes == 2 and s.is_awaiting_user)
    assert floats.code
    assert "float" in floats.code.code
    assert all(check.ok for check in floats.code.checks)

    await person.does(c.Approve(version=floats.code.version, hash=floats.code.hash))
    await person.phase("resting")
    await person.does(c.Run())
    ran = await person.sees(lambda s: s.phase == "resting" and s.turn is not None and s.turn.verdict is not None)
    assert ran.turn
    assert ran.turn.verdict
    assert ran.turn.verdict.next_action == "complete"
    assert ran.turn.actions[0].result["exit_code"] == 0  # type: ignore[index, call-overload]

    await person.does(c.Continue())
    await person.does(c.Answer(text="Now make a to-do list"))
    again = await person.phase("awaiting_approval")
    requests = [entry.text for entry in again.transcript if entry.kind == "request"]
    assert requests == ["Help me create a simple calculator", "Now make a to-do list"]
    assert again.plan
    assert again.plan.number == 4
    assert [event.version for event in await person.events()] == list(range(1, again.version + 1))


async def test_a_rejected_plan_or_code_is_replaced_by_a_different_one(person: Person) -> None:
    await reach_code_review(person)
    code = (await person.load()).session.code
    assert code
    await person.does(c.Reject(version=code.version, replan=True, target="code"))
    new_code = (await person.sees(lambda s: s.counts.codes == 2 and s.is_awaiting_user)).code
    assert new_code
    assert new_code.code != code.code
    plan = (await person.load()).session.plan
    assert plan
    await person.does(c.Reject(replan=True, target="text"))
    new_plan = (await person.sees(lambda s: s.counts.plans == 2 and s.is_awaiting_user)).plan
    assert new_plan
    assert new_plan.steps != plan.steps


async def test_broken_code_from_the_user_is_shown_with_its_failed_check(person: Person) -> None:
    await reach_code_review(person)
    code = (await person.load()).session.code
    assert code
    await person.does(c.EditCode(base=code.version, code="def broken(:\n"))
    edited = (await person.sees(lambda s: s.counts.codes == 2 and s.is_awaiting_user)).code
    assert edited
    assert [(check.name, check.ok) for check in edited.checks] == [("parses", False)]


async def test_the_code_is_written_from_the_edited_plan(person: Person) -> None:
    await person.does(c.Say(text="Help me create a simple calculator"))
    plan = (await person.phase("awaiting_approval")).plan
    assert plan
    steps = (*plan.steps, Step(text="Support floating point numbers"))
    edited = await person.does(c.EditPlan(base=plan.version, steps=steps))
    await person.does(c.Approve(version=edited.version))
    code = (await person.sees(lambda s: s.code is not None and s.is_awaiting_user)).code
    assert code
    assert "float" in code.code


async def test_a_message_during_planning_is_in_the_plan_before_review(person: Person, rehearsal: str) -> None:
    async with http_client() as http:
        await http.post(f"{rehearsal}/faults", json={"task": "text_plan", "latency": 0.5, "times": 1})
    await person.does(c.Say(text="Help me create a simple calculator"))
    await person.does(c.Say(text="Add a step to write a short help text"))
    session = await person.sees(lambda s: s.is_awaiting_user and not s.words.unread)
    assert session.counts.plans == 1
    assert session.plan
    assert any("help" in step.text.lower() for step in session.plan.steps)


TESTS = """import unittest

import program


class AddsTest(unittest.TestCase):
    def test_s1_adds(self):
        self.assertEqual(program.add(1, 2), 4)
"""
RIGHT_TESTS = TESTS.replace("4)", "3)")
REPLIES = {
    "text_plan": {"goal": "Add", "steps": [{"id": "", "text": "Add two numbers"}]},
    "code": [
        {"code": "def add(a, b):\n    return a + b\n"},
        {"kind": "test_wrong", "reason": "1 and 2 is 3."},
        {"kind": "edits", "edits": [{"find": "a + b", "replace": "b + a"}], "wish": "the second number first"},
    ],
    "tests": [{"tests": TESTS}, {"tests": RIGHT_TESTS, "unreachable": ["s1"]}, {"tests": RIGHT_TESTS}],
}


@needs_landlock
async def test_a_wrong_test_is_disputed_and_the_program_is_edited(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    model, person = ModelByTask(REPLIES), Person(bus, session_id)
    async with working(settings, model):
        await person.does(c.Say(text="Add two numbers"))
        plan = (await person.phase("awaiting_approval")).plan
        assert plan
        await person.does(c.Approve(version=plan.version, hash=plan.hash))
        reviewed = await person.sees(lambda s: s.phase == "awaiting_approval" and s.code is not None)
        assert reviewed.code
        assert (reviewed.code.number, reviewed.code.repairs, reviewed.code.tests) == (2, 1, RIGHT_TESTS)
        assert reviewed.code.checks[-1].ok
        assert "No test can reach step 1 (“Add two numbers”)." in reviewed.code.checks[-1].detail

        await person.does(c.Say(text="The second number comes first"))
        edited = await person.sees(lambda s: s.counts.codes == 3 and s.phase == "awaiting_approval")
    assert edited.code
    assert edited.plan
    assert edited.code.code == "def add(a, b):\n    return b + a\n"
    assert (edited.plan.wishes, edited.plan.hash) == (("the second number first",), plan.hash)
    code, tests = ([prompt for prompt in model.prompts if prompt.task == task] for task in ("code", "tests"))
    assert [len(prompt.sections("failing_tests")) for prompt in code] == [0, 1, 0]
    assert [prompt.sections("dispute") for prompt in tests] == [[], ["1 and 2 is 3."], []]
