"""The conversation workflow through the real services on a real bus, with the rehearsal model."""

from collections.abc import AsyncIterator

import pytest

from rehearsal.app import build
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm import ModelByTask
from shared.llm.client import OpenAIModel
from shared.settings import Settings
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
        plan = (await person.approves()).plan
        assert plan
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
