"""Accessibility of the page: keyboard only, accessible names, on a phone, in light and dark mode."""

from collections.abc import AsyncIterator

from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.keyboard import Keyboard
from tests.e2e.parley_process import RunningParley


async def test_a_conversation_can_be_led_by_keyboard_alone(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    keys = Keyboard(tab)
    await tab.wait_for("example")
    await keys.tab_to("composer")
    await running.add_fault(task="text_plan", token_delay=0.3, times=1)
    await keys.type_line("Help me create a simple calculator")
    await tab.wait_for("draft", "calculator")
    await tab.page.keyboard.press("Escape")
    await tab.page.keyboard.press("Escape")
    await tab.wait_for_state("stopped")
    await tab.wait_for("retry")
    await keys.activate("retry")
    await tab.wait_for_state("text_plan_approval")
    await tab.wait_for("approve")

    before = await tab.steps()
    await keys.activate("step-text")
    await tab.wait_for("step-text-input")
    await tab.page.keyboard.press("Alt+ArrowDown")
    await tab.page.keyboard.press("Enter")
    await tab.page.keyboard.type("Say goodbye")
    await tab.page.keyboard.press("Escape")
    expected = [before[1], before[0], "Say goodbye", *before[2:]]
    await expect(tab("step-text")).to_have_text(expected)
    await keys.activate("edit-save")
    await tab.wait_for("plan-review", "Edited by you")
    await keys.activate("feedback")
    await tab.wait_for("feedback-input")
    await keys.type_line("Add a step to write a short help text")
    await tab.wait_for("plan-review", "Plan 3")
    await keys.activate("approve")
    await tab.wait_for_state("code_approval")
    await tab.wait_for("approve")
    await keys.activate("approve")
    await tab.wait_for("run")
    await keys.activate("run")
    await tab.wait_for("verdict")
    await tab.wait_for("complete")
    await keys.activate("complete")
    await expect(tab("status")).to_have_text("Done")


async def each_state(tab: Tab, running: RunningParley) -> AsyncIterator[str]:
    """Leads one conversation; yields the name of each state that looks different."""
    await tab.wait_for("example")
    yield "welcome"
    await running.add_fault(task="text_plan", token_delay=0.4, times=1)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("draft", "calculator")
    yield "plan-draft"
    await tab.click("stop")
    await tab.wait_for("retry")
    yield "stopped"
    await tab.click("retry")
    await tab.wait_for("approve")
    yield "plan"
    await tab("step-text").nth(1).click()
    await tab("step-text-input").fill(
        "Refuse a division by zero, and say so in words that a person understands at once"
    )
    yield "plan-edit"
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Edited by you")
    await tab("version-against").select_option(label="with version 1")
    await tab.wait_for("diff")
    yield "plan-diff"
    await tab("version-against").select_option("")
    await running.add_fault(task="code", token_delay=0.4, times=1)
    await tab.click("approve")
    await tab.wait_for("draft", "def")
    yield "code-draft"
    await tab.click("stop")
    await tab.click("retry")
    await tab.wait_for("checks")
    yield "code"
    await tab.click("feedback")
    yield "code-feedback"
    await tab("feedback-input").fill("Add support for floating point numbers")
    await tab.click("feedback-send")
    await tab.wait_for("code-review", "Code 2")
    await tab("version-against").select_option(label="with version 1")
    await tab.wait_for("diff")
    yield "code-diff"
    await tab("version-against").select_option("")
    await tab.click("approve")
    await tab.click("run")
    await tab.wait_for("verdict")
    await tab.wait_for("next")
    yield "ran"
    await tab.click("new-session")
    await tab.wait_for("example")
    await running.add_fault(fault="500", task="text_plan", times=3)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("failure")
    yield "failed"


async def test_no_visual_problems_in_any_state(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    problems = [problem async for name in each_state(tab, running) for problem in await tab.visual_problems(name)]
    assert not problems, "\n".join(problems)


async def test_the_page_has_landmarks_and_labels(person: Person) -> None:
    tab = await person.tab()
    await tab.to_plan()
    page = tab.page
    assert await page.locator("html").get_attribute("lang") == "en"
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        await expect(page.get_by_role(landmark)).to_have_count(1)
    await expect(page.get_by_role("heading", level=1)).to_have_count(1)
    await expect(page.get_by_role("log", name="Conversation")).to_be_visible()
    await expect(tab("status")).to_have_attribute("aria-live", "polite")
    await expect(page.get_by_role("list", name="Steps").get_by_role("listitem")).to_have_count(len(await tab.steps()))
    duplicate_ids = (
        "[...document.querySelectorAll('[id]')].map((o) => o.id).filter((id, n, all) => all.indexOf(id) !== n)"
    )
    assert await page.evaluate(duplicate_ids) == []
    await page.keyboard.press("Tab")
    await page.locator('a[href="#composer"]').focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    assert await page.evaluate("!!document.activeElement.closest('#composer')"), "the skip link leads to the composer"
