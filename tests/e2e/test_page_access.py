"""The page for everyone: by keyboard alone, with a screen reader's names, on a phone, in light and dark."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.keys import Keys
from tests.e2e.running import Parley

pytestmark = pytest.mark.timeout(120)


async def test_a_conversation_by_keyboard_alone(person: Person, running: Parley) -> None:
    tab = await person.tab()
    keys = Keys(tab)
    await tab.sees("example")
    await keys.to("composer")
    await running.fault(task="text_plan", token_delay=0.3, times=1)
    await keys.write("Help me create a simple calculator")
    await tab.sees("draft", "calculator")
    await tab.page.keyboard.press("Escape")
    await tab.page.keyboard.press("Escape")
    await tab.state("stopped")
    await tab.sees("retry")
    await keys.press("retry")
    await tab.state("text_plan_approval")
    await tab.sees("approve")

    before = await tab.steps()
    await keys.press("step-text")
    await tab.sees("step-text-input")
    await tab.page.keyboard.press("Alt+ArrowDown")
    await tab.page.keyboard.press("Enter")
    await tab.page.keyboard.type("Say goodbye")
    await tab.page.keyboard.press("Escape")
    wanted = [before[1], before[0], "Say goodbye", *before[2:]]
    await expect(tab("step-text")).to_have_text(wanted)
    await keys.press("edit-save")
    await tab.sees("plan-review", "Edited by you")
    await keys.press("feedback")
    await tab.sees("feedback-input")
    await keys.write("Add a step to write a short help text")
    await tab.sees("plan-review", "Plan 3")
    await keys.press("approve")
    await tab.state("code_approval")
    await tab.sees("approve")
    await keys.press("approve")
    await tab.sees("run")
    await keys.press("run")
    await tab.sees("verdict")
    await tab.sees("complete")
    await keys.press("complete")
    await expect(tab("status")).to_have_text("Done")


async def test_ctrl_dot_stops_what_runs_and_no_review(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await running.fault(task="text_plan", token_delay=0.4, times=1)
    await tab.say("Help me create a simple calculator")
    await tab.sees("draft")
    await tab.page.keyboard.press("Control+.")
    await tab.state("stopped")
    await tab.press("retry")
    await tab.sees("approve")
    for key in ("Escape", "Escape", "Control+."):  # at a review these close things, and end nothing
        await tab.page.keyboard.press(key)
    await tab.page.keyboard.press("Control+Enter")
    await tab.state("code_approval")


async def main_states(tab: Tab, running: Parley) -> AsyncIterator[str]:
    """One conversation, halting wherever the page looks different."""
    await tab.sees("example")
    yield "welcome"
    await running.fault(task="text_plan", token_delay=0.4, times=1)
    await tab.say("Help me create a simple calculator")
    await tab.sees("draft", "calculator")
    yield "plan-draft"
    await tab.press("stop")
    await tab.sees("retry")
    yield "stopped"
    await tab.press("retry")
    await tab.sees("approve")
    yield "plan"
    await tab("step-text").nth(1).click()
    await tab("step-text-input").fill(
        "Refuse a division by zero, and say so in words that a person understands at once"
    )
    yield "plan-edit"
    await tab.press("edit-save")
    await tab.sees("plan-review", "Edited by you")
    await tab("version-against").select_option(label="with version 1")
    await tab.sees("diff")
    yield "plan-diff"
    await tab("version-against").select_option("")
    await running.fault(task="code", token_delay=0.4, times=1)
    await tab.press("approve")
    await tab.sees("draft", "def")
    yield "code-draft"
    await tab.press("stop")
    await tab.press("retry")
    await tab.sees("checks")
    yield "code"
    await tab.press("feedback")
    yield "code-feedback"
    await tab("feedback-input").fill("Add support for floating point numbers")
    await tab.press("feedback-send")
    await tab.sees("code-review", "Code 2")
    await tab("version-against").select_option(label="with version 1")
    await tab.sees("diff")
    yield "code-diff"
    await tab("version-against").select_option("")
    await tab.press("approve")
    await tab.press("run")
    await tab.sees("verdict")
    await tab.sees("next")
    yield "ran"
    await running.fault(fault="500", task="text_plan", times=3)
    await tab.say("Add a square root")
    await tab.sees("failure")
    yield "failed"


async def test_every_state_on_a_desk_and_a_phone_in_light_and_dark(person: Person, running: Parley) -> None:
    tab = await person.tab()
    wrong = [one async for name in main_states(tab, running) for one in await tab.wrong_looks(name)]
    assert not wrong, "\n".join(wrong)


async def test_what_a_screen_reader_finds(person: Person) -> None:
    tab = await person.tab()
    await tab.ask()
    page = tab.page
    assert await page.locator("html").get_attribute("lang") == "en"
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        await expect(page.get_by_role(landmark)).to_have_count(1)
    await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    await expect(page.get_by_role("log", name="Conversation")).to_be_visible()
    await expect(tab("status")).to_have_attribute("aria-live", "polite")
    await expect(page.get_by_role("list", name="Steps").get_by_role("listitem")).to_have_count(len(await tab.steps()))
    twice = "[...document.querySelectorAll('[id]')].map((o) => o.id).filter((id, n, all) => all.indexOf(id) !== n)"
    assert await page.evaluate(twice) == []
    await page.keyboard.press("Tab")
    await page.locator(".skip-link").focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    assert await page.evaluate("!!document.activeElement.closest('#composer')"), "the skip link leads to the composer"
