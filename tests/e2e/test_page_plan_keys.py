"""A user completes an execution plan by keyboard alone; screen readers announce its progress."""

import json
from itertools import pairwise

from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.keyboard import Keyboard
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING, USER

OWN_STORE = json.dumps(json.dumps({"workflow": "conversation", "world": "own"}))  # as an earlier visit stores it
UNKNOWN_ORDER = "#W0000000"
REQUEST = f"I am {USER['email']}. Look up {PENDING[1]} and {UNKNOWN_ORDER}, and cancel {PENDING[0]}."
# Records the announcements of live regions in `window.announcements`, in order, with their politeness.
RECORD_ANNOUNCEMENTS = """() => {
  window.announcements = [];
  const say = (region) => {
    const text = region.innerText.trim();
    const how = region.getAttribute('role') === 'alert' ? 'assertive' : region.getAttribute('aria-live') ?? 'polite';
    if (text) window.announcements.push([how, text]);
  };
  new MutationObserver((changes) => {
    const live = '[role=status], [role=alert], [aria-live]';
    const regions = changes.map(({ target }) => (target.closest ? target : target.parentElement)?.closest(live));
    for (const region of new Set(regions)) if (region) say(region);
    for (const { addedNodes } of changes)
      for (const node of addedNodes) node.querySelectorAll?.('[role=alert]').forEach(say);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


async def test_an_execution_plan_can_be_completed_by_keyboard_alone(person: Person, running: RunningParley) -> None:
    await person.context.add_init_script(f"localStorage.setItem('parley.choice', {OWN_STORE})")
    tab = await person.tab()
    keys = Keyboard(tab)
    await tab.wait_for("example")
    await tab.page.evaluate(RECORD_ANNOUNCEMENTS)
    await keys.tab_to("workflow")
    await keys.repeat("ArrowRight", 3)
    await tab.wait_for("templates-open")
    await keys.tab_to("composer")
    await keys.type_line(REQUEST)
    await tab.wait_for("plan-review", "Plan 1")
    await tab.wait_for("approve")
    await move_and_approve(tab, keys)
    await tab.wait_for("failed-step", UNKNOWN_ORDER)
    await fix_failed_step(tab, keys)
    await tab.wait_for("answer", "steps were carried out")
    announcements = await tab.page.evaluate("window.announcements")
    assert [text for how, text in announcements if how == "assertive" and "is step" not in text] == []
    polite = [text for how, text in announcements if how == "polite"]
    assert [text for text, following in pairwise(polite) if text == following] == []
    assert "The plan is not finished" in polite
    await use_again(tab, keys)


async def move_and_approve(tab: Tab, keys: Keyboard) -> None:
    """Moves a step by its handle, which keeps the focus, and approves the version with its button."""
    before = await tab.steps()
    await keys.tab_to("step-grip", "Move step 2")
    await keys.repeat("ArrowDown", 1)
    assert await keys.is_focused("step-grip", "Move step 3")
    await expect(tab("step-text")).to_have_text([before[0], before[2], before[1], *before[3:]])
    await keys.activate("edit-save")
    await tab.wait_for("plan-review", "Plan 2")
    await keys.activate("approve")


async def fix_failed_step(tab: Tab, keys: Keyboard) -> None:
    """Enters another order for the failed step in its form; the focus returns to the step."""
    number = [UNKNOWN_ORDER in text for text in await tab.steps()].index(True) + 1
    await keys.activate("plan-step", f"Change step {number}")
    await expect(tab("argument-order_id")).to_be_focused()
    await tab.page.keyboard.press("ControlOrMeta+a")
    await keys.type_line(PENDING[1])
    await tab.wait_until_gone("step-form")
    assert await keys.is_focused("step-grip", f"Move step {number}")
    await keys.activate("edit-save")
    await tab.wait_for("plan-review", "Plan 3")
    await keys.activate("approve")


async def use_again(tab: Tab, keys: Keyboard) -> None:
    """Saves a template with a parameter, uses it, and approves with Ctrl+Enter. Dialogs restore the focus."""
    await tab.wait_for("template-new")
    await keys.activate("template-new")
    await expect(tab("template-name")).to_be_focused()
    await keys.tab_to("template-value")
    await tab.page.keyboard.press("Space")
    await keys.activate("template-save")
    await tab.wait_for("template-saved")
    await expect(tab("template-close")).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await expect(tab("template-new")).to_be_focused()
    await keys.activate("library-open")
    await tab.wait_for("library")
    await keys.tab_to("library", "Questions")
    await keys.repeat("ArrowRight", 1)
    await keys.activate("template-use")
    await expect(tab("argument-email")).to_be_focused()
    await keys.type_line(USER["email"])
    await tab.wait_for("approve")
    await expect(tab.page.get_by_role("main")).to_be_focused()
    await tab.page.keyboard.press("Control+Enter")
    await tab.wait_for("answer", "steps were carried out")
