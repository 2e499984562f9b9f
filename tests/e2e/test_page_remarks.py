"""A user asks about what is in review or waits for approval. The journal shows the answer, and the same waits.

The bus, the log and the model are fakes in this process. Everything else is real.
"""

import asyncio
from typing import Any

from playwright.async_api import Browser, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.parley_process import Json
from tests.e2e.store_user import NO_MORE_TURNS, ONE_ORDER, Customer, cancel_replies
from tests.support.parley import InProcess

PLAN = {"goal": "A calculator", "steps": ["Add the numbers", "Test it"], "notes": ""}
ANSWER_TEXT = "The second step tests the first."
REPLY = {"kind": "answer", "text": ANSWER_TEXT}


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
        await tab.wait_for("status", "planner is replying to you")
        await expect(tab("stop")).to_have_text("Withdraw my message")
        assert await tab.steps() == steps
        await expect(tab("approve")).to_be_enabled()
        may_reply.set()
        await tab.wait_for("reply", ANSWER_TEXT)
        await tab.wait_for_state("text_plan_approval")
        await expect(tab.page.locator("[data-testid=notices] > *")).to_have_count(0)
        assert await tab.steps() == steps
        await expect(tab("plan-card")).to_have_count(1)
        await tab.check_reload()
        await tab.click("approve")
        await tab("note").get_by_text("approved plan 1").wait_for()


def waiting(snapshot: Json) -> list[tuple[Any, Any]]:
    """What waits for approval: each version or action with its hash."""
    review, request = snapshot["review"], snapshot["approval_request"]
    actions = [(action["action_id"], action["hash"]) for action in request["actions"]] if request else []
    return [*actions, *([(review["version"], review["hash"])] if review else [])]


async def check_question(tab: Tab, parley: InProcess, task: str, question: str) -> None:
    """Asks a question about what waits: a reply comes, and the same waits as before."""
    path = f"/api/sessions/{tab.session_id}"
    read = "async (path) => (await fetch(path)).json()"
    before = waiting(await tab.page.evaluate(read, path))
    assert before
    parley.model.replies[task] = [REPLY]
    await tab.send(question)
    await tab.wait_for("reply", ANSWER_TEXT)
    assert waiting(await tab.page.evaluate(read, path)) == before


async def test_a_question_about_a_change_keeps_it(browser: Browser, parley: InProcess) -> None:
    async with Customer(browser, parley) as customer:
        tab = await customer.request("Cancel my order", cancel_replies(*ONE_ORDER))
        await tab.wait_for("action-approve")
        await check_question(tab, parley, "turn", "How much do I get back?")
        parley.model.replies["turn"] = [NO_MORE_TURNS]
        await tab.click("action-approve")
        await tab.wait_for("answer")
