"""The services with the configured model. Run: `make test ARGS="tests/live --live"` with `OPENAI_BASE_URL` set."""

import pytest

from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from tests.support.stack import Person, working

pytestmark = pytest.mark.live


async def test_the_model_drafts_a_plan_and_a_program_that_passes_its_tests(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    assert settings.model_url, "no model is configured: set OPENAI_BASE_URL, OPENAI_API_KEY or INTERNLM_API_URL"
    user = Person(bus, session_id, timeout=3 * settings.model_timeout)
    model = OpenAIModel(settings)
    try:
        async with working(settings, model):
            await user.does(c.Say(text="Help me create a simple calculator"))
            planned = await user.phase("awaiting_approval", "awaiting_input", "failed")
            assert planned.phase == "awaiting_approval", planned.failure or planned.question
            assert planned.plan
            await user.does(c.Approve(version=planned.plan.version, hash=planned.plan.hash))
            written = await user.phase("awaiting_approval", "awaiting_input", "failed")
            assert written.phase == "awaiting_approval", written.failure or written.question
            assert written.code
    finally:
        await model.aclose()
