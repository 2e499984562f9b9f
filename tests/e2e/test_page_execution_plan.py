"""An execution plan from draft to completion, on a wide screen and on a phone."""

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from parley.events.values import Step
from parley.protocol.tools import TOOLS_LIST, ToolPage, ToolSpec
from shared.domain.kernel import commands as c
from shared.plan_checks.steps import check_plan
from tests.e2e.browser import NARROW, WIDE, Person, Tab
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING, USER
from tests.support.gateway import World, serving

OWN_STORE = json.dumps(json.dumps({"workflow": "execution_plan", "world": "own"}))  # stored by an earlier visit
UNKNOWN = "#W0000000"
REQUEST = f"I am {USER['email']}. Look up {UNKNOWN} and {PENDING[0]} and {PENDING[1]}."
FIND, WRONG, FIRST, SECOND = (
    f"Find the customer {USER['email']}",
    f"Look up order {UNKNOWN}",
    f"Look up order {PENDING[0]}",
    f"Look up order {PENDING[1]}",
)
CANCEL = "Cancel pending order"


@pytest_asyncio.fixture(loop_scope="package", params=["wide", "phone"])
async def tab(request: pytest.FixtureRequest, browser: Browser, running: RunningParley) -> AsyncIterator[Tab]:
    """A tab of this size with a plan of four steps in review, in a session with its own store."""
    phone = request.param == "phone"
    options = {"viewport": NARROW, "has_touch": True} if phone else {"viewport": WIDE}
    async with Person(browser, running.url, **options) as person:
        await person.context.add_init_script(f"localStorage.setItem('parley.choice', {OWN_STORE})")
        tab = await person.tab()
        await tab.send(REQUEST)
        await tab.wait_for("plan-review", "Plan 1")
        await tab.wait_for("approve")
        await expect(tab("step-text")).to_have_text([FIND, WRONG, FIRST, SECOND])
        yield tab


async def test_an_execution_plan_from_draft_to_completion(tab: Tab) -> None:
    await add_step_by_keyboard(tab)
    await expect(tab("step-text")).to_have_text([FIND, WRONG, FIRST, SECOND, CANCEL])
    await expect(tab("step-call").last).to_contain_text("changes data")
    await drag(tab, SECOND, above=WRONG)
    await expect(tab("step-text")).to_have_text([FIND, SECOND, WRONG, FIRST, CANCEL])
    await move_step_by_keys(tab)
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Plan 2")
    await expect(tab("step-text")).to_have_text([FIND, SECOND, WRONG, FIRST, CANCEL])
    await expect(tab("step-call").last).to_contain_text("after 3")  # a step's number is its position, not its id
    await tab.click("approve")
    await tab.wait_for("failure", "The plan is not finished")
    await tab.wait_for("failed-step", f"Step 3, {WRONG}: Error: order not found")
    await expect(tab("step-problem")).to_have_text("Error: order not found")
    await expect(tab("status")).to_have_text("The plan is not finished")
    await expect(tab("step-stands")).to_have_text(["done", "done", "failed", "done", "skipped"])
    await tab.click("retry")  # fails again: nothing has changed
    await expect(tab("answer")).to_have_count(2)
    await fix_failed_step(tab)
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Plan 3")
    await tab.click("approve")
    await tab.wait_for("change", "status")
    await tab.click("action-approve")
    await tab.wait_for("answer", "All 5 steps were carried out.")
    await tab.wait_until_gone("failure")
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    assert await tab.overflow() <= 0
    await tab.check_reload()


async def add_step_by_keyboard(tab: Tab) -> None:
    """Adds a fifth step, whose order is another step's result, and which depends on the step that will fail."""
    keys = tab.page.keyboard
    await tab("step-add").focus()
    await keys.press("Enter")
    await expect(tab("tool-search")).to_be_focused()
    await keys.type("cancel pending order")
    await expect(tab("tool").first).to_contain_text("cancel_pending_order")
    await keys.press("Tab")
    await keys.press("Enter")
    await expect(tab("argument-order_id")).to_be_focused()
    await keys.press("Enter")  # submits the form, which lacks two values
    await expect(tab("step-form")).to_contain_text("press the button again")
    await keys.press("Tab")
    await keys.press("Enter")
    await expect(tab("reference")).to_have_count(4)
    await tab("reference").filter(has_text=SECOND).focus()
    await keys.press("Enter")
    await expect(tab("argument-order_id")).to_be_focused()
    await keys.type(".order_id")
    await expect(tab("argument-order_id")).to_have_value("{{steps.s4.output.order_id}}")
    await tab("argument-reason").select_option("no longer needed")
    await expect(tab("step-does")).to_have_value(CANCEL)
    await tab("step-after").focus()
    await keys.type(UNKNOWN)
    await keys.press("ArrowDown")
    await keys.press("Enter")
    await keys.press("Escape")  # closes the list, not the form
    await expect(tab("step-form")).to_contain_text(f"2. {WRONG}")
    await tab("step-use").focus()
    await keys.press("Enter")
    await tab.wait_until_gone("step-form")
    await expect(tab("step-grip").last).to_be_focused()


async def drag(tab: Tab, text: str, *, above: str) -> None:
    """Drags the step with this text by its handle, on a phone by touch."""
    grip, target = grip_of(tab, text), grip_of(tab, above)
    # Near an edge of the list the page scrolls while it drags, the further the longer the events take to arrive.
    await target.evaluate("row => row.scrollIntoView({block: 'center'})")
    await grip.hover(trial=True)  # waits until the list stands still
    start, end = await grip.bounding_box(), await target.bounding_box()
    assert start
    assert end
    x, y, top = start["x"] + 12, start["y"] + 12, end["y"]
    if not await tab.page.evaluate("navigator.maxTouchPoints"):
        await tab.page.mouse.move(x, y)
        await tab.page.mouse.down()
        await tab.page.mouse.move(x, top, steps=8)
        await tab.page.mouse.up()
        return
    finger = await tab.page.context.new_cdp_session(tab.page)
    await finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in range(1, 9):
        point = {"x": x, "y": y + (top - y) * part / 8}
        await finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    await finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


async def move_step_by_keys(tab: Tab) -> None:
    """Moves the last step above one that it depends on, which shows a warning, and back."""
    keys = tab.page.keyboard
    await grip_of(tab, CANCEL).focus()
    for _ in range(2):
        await keys.press("ArrowUp")
    await expect(tab("step-text")).to_have_text([FIND, SECOND, CANCEL, WRONG, FIRST])
    await expect(tab.page.get_by_test_id("step-moved")).to_have_text(f"“{CANCEL}” is step 3 of 5 now")
    await expect(tab("step-below")).to_have_text("waits for step 4, which stands below it")
    for _ in range(2):
        await keys.press("ArrowDown")
    await tab.wait_until_gone("step-below")
    await expect(grip_of(tab, CANCEL)).to_be_focused()
    await expect(tab("step-text")).to_have_text([FIND, SECOND, WRONG, FIRST, CANCEL])


async def fix_failed_step(tab: Tab) -> None:
    """Enters another order for the failed step in its form. Finished steps have no form."""
    await expect(tab.page.get_by_role("button", name=re.compile("^Change step 1$"))).to_have_count(0)
    await grip_of(tab, WRONG).click()
    await tab.page.get_by_role("button", name="Change step 3", exact=True).click()
    await tab("argument-order_id").fill(PENDING[0])
    await tab("step-does").fill("Look it up once more")
    await tab.click("step-use")
    await expect(tab("step-call").nth(2)).to_contain_text(PENDING[0])


def grip_of(tab: Tab, text: str) -> Locator:
    return tab("plan-step").filter(has=tab.page.get_by_text(text, exact=True)).get_by_test_id("step-grip")


async def test_a_changed_tool_is_shown_at_its_step_and_can_be_saved_again(browser: Browser) -> None:
    world = World()
    cancel = ToolSpec(name="cancel", description="Cancels.", parameters={"type": "object"}, effect="write")
    tools = {"cancel": cancel}
    world.bus.answers[TOOLS_LIST] = lambda _: ToolPage(tools=tuple(tools.values()), total=1).model_dump_json().encode()
    checked = check_plan([Step(id="s1", text="Cancel the order", tool="cancel")], tools)
    story = world.story("s")
    await story.commit(c.Say(text="Cancel it", workflow="execution_plan"))
    await story.commit(c.DraftPlan(goal="Cancel it", steps=checked.steps, checks=checked.checks, kind="execution"))
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = ("Failed to load resource",)  # this store has no session lists
        tab = await person.tab("/s/s")
        await tab.wait_for("approve")
        await tab.wait_until_gone("save-again")
        tools["cancel"] = cancel.model_copy(update={"effect": "irreversible"})
        await tab.click("approve")
        await expect(tab("step-problem")).to_contain_text("The tool cancel has changed since this plan was made")
        await tab.click("save-again")
        await tab.wait_for("plan-review", "Plan 2")
        await tab.wait_until_gone("step-problem")
        await tab.wait_until_gone("save-again")
        await tab.click("approve")
        await tab.wait_until_gone("approve")
    assert [event.type for event in await world.store.events("s")][-2:] == ["plan.edited", "plan.approved"]
