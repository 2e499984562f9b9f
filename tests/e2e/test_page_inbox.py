"""The inbox on the page: waiting sessions, and taking over an escalated one."""

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser, expect

from shared.domain.kernel import commands as c
from shared.domain.kernel.session import USER_PHASES
from shared.domain.steps.plan_steps import is_held_up
from shared.story import Story
from shared.testing import session_ids
from tests.e2e.browser import Tab
from tests.e2e.keyboard import Keyboard
from tests.e2e.store_user import DELIVERED, ESCALATED, PENDING, TWO_ORDERS, Customer, Replies, cancel_replies
from tests.support.http_client import http_client
from tests.support.parley import InProcess
from tests.support.store import STORE
from tests.support.timeouts import WAIT_TIMEOUT

WHY = "The request was handed over to a person."


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    """A customer without waiting sessions."""
    for session_id in await session_ids(parley.log):
        story = Story(session_id, log=parley.log, user="local")
        if (session := await story.load()).phase in USER_PHASES:
            await story.commit(c.Stop())
        elif is_held_up(session):
            await story.commit(c.Complete())
    async with Customer(browser, parley) as customer:
        yield customer


async def customer_tab(customer: Customer, request: str, replies: Replies, state: str) -> Tab:
    """Opens a tab with this request, and waits until its session is in this state."""
    tab = await customer.request(request, replies)
    await tab.wait_for_state(state)
    return tab


async def select_tool(tab: Tab, words: str, tool: str) -> None:
    """Searches for a tool and selects it."""
    await tab("tool-search").fill(words)
    await tab("tool").filter(has_text=tool).first.click()
    await tab.wait_for("tool-form", tool)


async def test_waiting_sessions_are_counted_and_opened_by_keyboard(ada: Customer) -> None:
    first = await customer_tab(ada, "Cancel my pending orders", cancel_replies(*TWO_ORDERS), "action_approval")
    await expect(first("inbox-count")).to_have_text("1")
    await customer_tab(ada, "I want to speak with a person", ESCALATED, "escalated")
    ada.parley.model.replies = cancel_replies(*TWO_ORDERS)
    tab = await ada.tab()
    await expect(tab("inbox")).to_have_accessible_name("Inbox: 2 sessions need you")
    await tab("inbox").focus()
    await tab.page.keyboard.press("Enter")
    items = tab("inbox-item")
    await expect(items).to_have_count(2)
    await expect(tab("inbox-panel")).to_contain_text("approve a change")
    await expect(tab("inbox-panel")).to_contain_text("take over")
    await expect(items.first).to_be_focused()
    await tab.page.keyboard.press("ArrowDown")
    await expect(items.nth(1)).to_be_focused()
    await tab.page.keyboard.press("ArrowUp")
    await expect(items.first).to_be_focused()
    await tab.page.keyboard.press("ArrowDown")  # to the older session: the newest comes first
    await tab.page.keyboard.press("Enter")
    await tab.wait_until_gone("inbox-panel")
    assert tab.session_id == first.session_id
    await tab.wait_for("approve-all")
    await tab.click("approve-all")
    await tab.wait_for("next")
    await expect(tab("inbox-count")).to_have_text("1")


async def failed_plan(parley: InProcess) -> str:
    """The id of the session of a plan whose only step failed."""
    step = {"text": "Divide", "tool": "calculate", "arguments": {"expression": "1 / 0"}}
    async with http_client(base_url=f"{parley.url}/api/execution-plans") as http:
        stored = (await http.post("/store", json={"description": "Divide by nothing", "steps": [step]})).json()
        failed = (await http.post(f"/{stored['task_id']}/approve", json={"version": stored["version"]})).json()
    assert failed["status"] == "failed"
    return str(stored["session_id"])


async def test_an_unfinished_plan_is_resumed_from_the_inbox(ada: Customer) -> None:
    session_id = await failed_plan(ada.parley)
    tab = await ada.tab(f"/s/{session_id}")
    await expect(tab("state")).to_have_text("not finished")
    row = tab("session-item").and_(tab.page.locator("[aria-current=page]"))
    await expect(row.get_by_test_id("session-state")).to_have_text("not finished")  # as in its header
    inbox_tab = await ada.tab()
    await expect(inbox_tab("inbox-count")).to_have_text("1")
    await inbox_tab.click("inbox")
    await expect(inbox_tab("inbox-item")).to_contain_text("finish the plan")
    async with inbox_tab.page.expect_response("**/execute") as response:
        await inbox_tab.click("inbox-retry")
    assert (await (await response.value).json())["session_id"] == session_id
    await inbox_tab.wait_until_gone("inbox-panel")
    assert inbox_tab.session_id == session_id
    async with http_client(base_url=ada.parley.url) as http:
        plan = (await http.get(f"/api/execution-plans/{session_id}", params={"timeout": WAIT_TIMEOUT})).json()
    assert (plan["status"], plan["steps"][0]["attempt"]) == ("failed", 2)
    await inbox_tab.wait_for("failure")


async def test_a_user_takes_over_and_hands_back(ada: Customer) -> None:
    tab = await customer_tab(ada, "I want to speak with a person", ESCALATED, "escalated")
    await tab.wait_for("take-over", WHY)
    await select_tool(tab, "cancel", "cancel_pending_order")
    await tab.click("tool-run")
    await expect(tab("tool-form")).to_contain_text("Choose one.")  # without the required argument nothing is sent
    await tab("argument-order_id").fill(PENDING[0])
    await tab("argument-reason").select_option("no longer needed")
    await tab.click("tool-preview")
    await tab.wait_for("change", "status")
    ada.parley.gate.hold()
    await tab.click("tool-run")
    await tab.wait_until_gone("take-over")
    ada.parley.gate.release()
    own_turn = tab("turn").last
    await expect(own_turn).to_contain_text("By hand: cancel pending order")
    await expect(own_turn.get_by_test_id("turn-by")).to_have_text("You")
    await expect(own_turn.get_by_test_id("action")).to_have_attribute("data-state", "finished")
    await tab.wait_for("take-over", "You have taken over")
    await tab.check_reload()
    await tab.click("hand-back")
    await expect(tab("composer")).to_be_focused()
    await tab.page.keyboard.type("The first order is cancelled. Go on with the rest.")
    await tab.page.keyboard.press("Enter")
    await tab.wait_until_gone("take-over")
    await tab.wait_for("said", "Go on with the rest")
    [requested] = [event for event in await tab.events() if event["type"] == "turn.requested"]
    assert requested["actor"] == "user:local"
    assert requested["actions"][0]["arguments"] == {"order_id": PENDING[0], "reason": "no longer needed"}


async def test_a_tool_form_is_filled_in_by_keyboard_and_shows_problems(ada: Customer) -> None:
    tab = await customer_tab(ada, "I want to speak with a person", ESCALATED, "escalated")
    await tab.wait_for("tool")
    keys = Keyboard(tab)
    await tab.page.locator("main").focus()
    await keys.tab_to("tool-search")
    await tab.page.keyboard.type("return delivered items")
    await expect(tab("tool").first).to_contain_text("return_delivered_order_items")
    await keys.activate("tool")
    await expect(tab("argument-order_id")).to_be_focused()
    order = STORE["orders"][DELIVERED[0]]
    await tab.page.keyboard.type(DELIVERED[0])
    await keys.tab_to("argument-item_ids")
    await keys.type_line(order["items"][0]["item_id"])
    await keys.tab_to("argument-payment_method_id")
    await tab.page.keyboard.type("gift_card_of_somebody_else")
    await keys.activate("tool-preview")
    await tab.wait_for("preview", "This would fail: payment method not found")
    await keys.activate("tool-run")
    await expect(tab("action").last).to_have_attribute("data-state", "failed")
    action = [event for event in await tab.events() if event["type"] == "turn.requested"][-1]["actions"][0]
    assert action["arguments"]["item_ids"] == [order["items"][0]["item_id"]]


async def test_no_visual_problems_on_desktop_and_phone(ada: Customer) -> None:
    tab = await customer_tab(ada, "W" * 100, ESCALATED, "escalated")
    problems: list[str] = []
    for words, tool in (("", ""), ("exchange", "exchange_delivered_order_items")):
        await tab.wait_for("tool")
        if tool:
            await select_tool(tab, words, tool)
            await tab.click("tool-run")
        problems += await tab.visual_problems(tool)
    assert not problems, "\n".join(problems)
