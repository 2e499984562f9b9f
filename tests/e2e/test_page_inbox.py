"""The inbox on the page: what waits for a person in all sessions, and taking an escalated one over."""

from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from shared.domain import commands as c
from shared.domain.plan_steps import held_up
from shared.domain.session import ASKING
from shared.story import Story
from shared.testing import session_ids
from tests.e2e.browser import Tab
from tests.e2e.keys import Keys
from tests.e2e.store_requests import BOTH, DELIVERED, ESCALATED, PENDING, Customer, Replies, cancelling
from tests.support.parley import InProcess, in_process
from tests.support.store import STORE

pytestmark = pytest.mark.timeout(120)
WHY = "The request was handed over to a person."


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    async with in_process(tmp_path_factory.mktemp("home")) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    """Somebody for whom nothing waits yet."""
    for session_id in await session_ids(parley.log):
        story = Story(session_id, log=parley.log, user="local")
        if (session := await story.load()).phase in ASKING:
            await story.commit(c.Stop())
        elif held_up(session):
            await story.commit(c.Complete())
    async with Customer(browser, parley) as customer:
        yield customer


async def acting(customer: Customer, request: str, replies: Replies, state: str) -> Tab:
    """A tab with this request, when its session stands here."""
    tab = await customer.says(request, replies)
    await tab.state(state)
    return tab


async def chosen(tab: Tab, words: str, tool: str) -> None:
    """Find a tool by words and take it."""
    await tab("tool-search").fill(words)
    await tab("tool").filter(has_text=tool).first.click()
    await tab.sees("tool-form", tool)


async def test_what_waits_is_counted_and_opened_by_keyboard(ada: Customer) -> None:
    first = await acting(ada, "Cancel my pending orders", cancelling(*BOTH), "action_approval")
    await expect(first("inbox-count")).to_have_text("1")
    await acting(ada, "I want to speak with a person", ESCALATED, "escalated")
    ada.parley.model.replies = cancelling(*BOTH)
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
    await tab.page.keyboard.press("ArrowDown")  # to the older one: the newest comes first
    await tab.page.keyboard.press("Enter")
    await tab.gone("inbox-panel")
    assert tab.session_id == first.session_id
    await tab.sees("approve-all")
    await tab.press("approve-all")
    await tab.sees("next")
    await expect(tab("inbox-count")).to_have_text("1")


async def failed_plan(parley: InProcess) -> str:
    """The session of a plan of which the only step came to nothing."""
    step = {"text": "Divide", "tool": "calculate", "arguments": {"expression": "1 / 0"}}
    async with httpx2.AsyncClient(base_url=f"{parley.url}/api/execution-plans", timeout=60) as http:
        stored = (await http.post("/store", json={"description": "Divide by nothing", "steps": [step]})).json()
        failed = (await http.post(f"/{stored['task_id']}/approve", json={"version": stored["version"]})).json()
    assert failed["status"] == "failed"
    return str(stored["session_id"])


async def test_a_plan_that_did_not_end_waits_and_goes_on_from_the_inbox(ada: Customer) -> None:
    session_id = await failed_plan(ada.parley)
    tab = await ada.tab(f"/s/{session_id}")
    await expect(tab("state")).to_have_text("not finished")
    row = tab("session-item").and_(tab.page.locator("[aria-current=page]"))
    await expect(row.locator(".sessions-state")).to_have_text("not finished")  # as its header says
    other = await ada.tab()
    await expect(other("inbox-count")).to_have_text("1")
    await other.press("inbox")
    await expect(other("inbox-item")).to_contain_text("finish the plan")
    async with other.page.expect_response("**/execute") as answered:
        await other.press("inbox-retry")
    assert (await (await answered.value).json())["session_id"] == session_id
    await other.gone("inbox-panel")
    assert other.session_id == session_id
    async with httpx2.AsyncClient(base_url=ada.parley.url, timeout=60) as http:
        ended = (await http.get(f"/api/execution-plans/{session_id}", params={"timeout": 30})).json()
    assert (ended["status"], ended["steps"][0]["attempt"]) == ("failed", 2)
    await other.sees("failure")


async def test_an_empty_inbox_says_so(ada: Customer) -> None:
    tab = await ada.tab()
    await tab.gone("inbox-count")
    await tab.press("inbox")
    await tab.sees("inbox-panel", "Nothing needs you right now.")
    await tab.page.keyboard.press("Escape")
    await tab.gone("inbox-panel")
    await expect(tab("inbox")).to_be_focused()


async def test_a_person_takes_over_and_hands_back(ada: Customer) -> None:
    tab = await acting(ada, "I want to speak with a person", ESCALATED, "escalated")
    await tab.sees("take-over", WHY)
    await chosen(tab, "cancel", "cancel_pending_order")
    await tab.press("tool-run")
    await expect(tab("tool-form")).to_contain_text("Choose one.")  # the reason is missing: nothing is sent
    await tab("argument-order_id").fill(PENDING[0])
    await tab("argument-reason").select_option("no longer needed")
    await tab.press("tool-preview")
    await tab.sees("change", "status")
    ada.parley.gate.hold()
    await tab.press("tool-run")
    await tab.gone("take-over")
    ada.parley.gate.release()
    mine = tab("turn").last
    await expect(mine).to_contain_text("By hand: cancel pending order")
    await expect(mine.get_by_test_id("turn-by")).to_have_text("You")
    await expect(mine.get_by_test_id("action")).to_have_attribute("data-state", "finished")
    await tab.sees("take-over", "You have taken over")
    await tab.reloaded_the_same()
    await tab.press("hand-back")
    await expect(tab("composer")).to_be_focused()
    await tab.page.keyboard.type("The first order is cancelled. Go on with the rest.")
    await tab.page.keyboard.press("Enter")
    await tab.gone("take-over")
    await tab.sees("said", "Go on with the rest")
    [requested] = [event for event in await tab.events() if event["type"] == "turn.requested"]
    assert requested["actor"] == "user:local"
    assert requested["actions"][0]["arguments"] == {"order_id": PENDING[0], "reason": "no longer needed"}


async def test_lists_and_refusals_by_keyboard(ada: Customer) -> None:
    tab = await acting(ada, "I want to speak with a person", ESCALATED, "escalated")
    await tab.sees("tool")
    keys = Keys(tab)
    await tab.page.locator("main").focus()
    await keys.to("tool-search")
    await tab.page.keyboard.type("return delivered items")
    await expect(tab("tool").first).to_contain_text("return_delivered_order_items")
    await keys.press("tool")
    await expect(tab("argument-order_id")).to_be_focused()
    order = STORE["orders"][DELIVERED[0]]
    await tab.page.keyboard.type(DELIVERED[0])
    await keys.to("argument-item_ids")
    await keys.write(order["items"][0]["item_id"])
    await keys.to("argument-payment_method_id")
    await tab.page.keyboard.type("gift_card_of_somebody_else")
    await keys.press("tool-preview")
    await tab.sees("preview", "This would fail: payment method not found")
    await keys.press("tool-run")
    await expect(tab("action").last).to_have_attribute("data-state", "failed")
    action = [event for event in await tab.events() if event["type"] == "turn.requested"][-1]["actions"][0]
    assert action["arguments"]["item_ids"] == [order["items"][0]["item_id"]]


async def test_it_looks_well_on_a_desk_and_a_phone(ada: Customer) -> None:
    tab = await acting(ada, "W" * 100, ESCALATED, "escalated")
    wrong: list[str] = []
    for words, tool in (("", ""), ("exchange", "exchange_delivered_order_items")):
        await tab.sees("tool")
        if tool:
            await chosen(tab, words, tool)
            await tab.press("tool-run")
        wrong += await tab.wrong_looks(tool)
    assert not wrong, "\n".join(wrong)
