"""A user asks about a plan in review. The journal shows the answer, and the review stays open.

The bus, the log and the model are fakes in this process. Everything else is real.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.browser import Person
from tests.support.parley import InProcess, in_process

PLAN = {"goal": "A calculator", "steps": ["Add the numbers", "Test it"], "notes": ""}
ANSWER_TEXT = "The second step tests the first."
REPLY = {"kind": "answer", "text": ANSWER_TEXT}


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    async with in_process(tmp_path_factory.mktemp("home")) as parley:
        yield parley


async def test_a_question_about_a_plan_keeps_it_in_review(browser: Browser, parley: InProcess) -> None:
    may_reply = asyncio.Event()
    real_ask = parley.model.ask

    async def ask_later(*args: Any, **options: Any) -> Any:
        await may_reply.wait()
        return await real_ask(*args, **options)

    async with Person(browser, parley.url) as ada:
        parley.model.replies = {"text_plan": [PLAN, REPLY]}
        tab = await ada.tab()
        await tab.send("A calculator")
        await tab.wait_for_state("text_plan_approval")
        steps = await tab.steps()

        parley.model.ask = ask_later  # type: ignore[method-assign]
        await tab.send("Why two steps?")
        await tab.wait_for("status", "is replying")
        assert await tab.steps() == steps
        await expect(tab("approve")).to_be_enabled()
        may_reply.set()
        await tab.wait_for("reply", ANSWER_TEXT)
        await tab.wait_for_state("text_plan_approval")
        await expect(tab.page.locator(".notices > *")).to_have_count(0)
        assert await tab.steps() == steps
        await expect(tab("plan-card")).to_have_count(1)
        await tab.check_reload()
        await tab.click("approve")
        await tab("note").get_by_text("approved plan 1").wait_for()
