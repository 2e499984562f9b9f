"""A plan that acts by keyboard alone, from the first Tab to its report, and what a screen reader hears of it."""

import json
from itertools import pairwise

import pytest
from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.keys import Keys
from tests.e2e.running import Parley
from tests.e2e.store_requests import PENDING, USER

pytestmark = pytest.mark.timeout(150)
OWN_STORE = json.dumps(json.dumps({"workflow": "conversation", "world": "own"}))  # what an earlier visit chose
NOWHERE = "#W0000000"
REQUEST = f"I am {USER['email']}. Look up {PENDING[1]} and {NOWHERE}, and cancel {PENDING[0]}."
# From now on `window.heard` has what live regions say, in order, each with how it is said.
HEARD = """() => {
  window.heard = [];
  const say = (region) => {
    const text = region.innerText.trim();
    const how = region.getAttribute('role') === 'alert' ? 'assertive' : region.getAttribute('aria-live') ?? 'polite';
    if (text) window.heard.push([how, text]);
  };
  new MutationObserver((changes) => {
    const live = '[role=status], [role=alert], [aria-live]';
    const regions = changes.map(({ target }) => (target.closest ? target : target.parentElement)?.closest(live));
    for (const region of new Set(regions)) if (region) say(region);
    for (const { addedNodes } of changes)
      for (const node of addedNodes) node.querySelectorAll?.('[role=alert]').forEach(say);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


async def test_a_plan_by_keyboard_alone(person: Person, running: Parley) -> None:
    await person.context.add_init_script(f"localStorage.setItem('parley.choice', {OWN_STORE})")
    tab = await person.tab()
    keys = Keys(tab)
    await tab.sees("example")
    await tab.page.evaluate(HEARD)
    await keys.to("workflow")
    await keys.times("ArrowRight", 3)
    await tab.sees("templates-open")
    await keys.to("composer")
    await keys.write(REQUEST)
    await tab.sees("plan-review", "Plan 1")
    await tab.sees("approve")
    await move_and_approve(tab, keys)
    await tab.sees("failed-step", NOWHERE)
    await mend(tab, keys)
    await tab.sees("answer", "steps were carried out")
    heard = await tab.page.evaluate("window.heard")
    assert [text for how, text in heard if how == "assertive" and "is step" not in text] == []
    said = [text for how, text in heard if how == "polite"]
    assert [one for one, other in pairwise(said) if one == other] == []
    assert "The plan is not finished" in said
    await use_again(tab, keys)


async def move_and_approve(tab: Tab, keys: Keys) -> None:
    """A step moves by its grip, keeps the focus there, and the version is approved by its button."""
    before = await tab.steps()
    await keys.to("step-grip", "Move step 2")
    await keys.times("ArrowDown", 1)
    assert await keys.at("step-grip", "Move step 3")
    await expect(tab("step-text")).to_have_text([before[0], before[2], before[1], *before[3:]])
    await keys.press("edit-save")
    await tab.sees("plan-review", "Plan 2")
    await keys.press("approve")


async def mend(tab: Tab, keys: Keys) -> None:
    """The step that failed gets another order, in its form; the focus comes back to the step."""
    wrong = [NOWHERE in text for text in await tab.steps()].index(True) + 1
    await keys.press("plan-step", f"Change step {wrong}")
    await expect(tab("argument-order_id")).to_be_focused()
    await tab.page.keyboard.press("ControlOrMeta+a")
    await keys.write(PENDING[1])
    await tab.gone("step-form")
    assert await keys.at("step-grip", f"Move step {wrong}")
    await keys.press("edit-save")
    await tab.sees("plan-review", "Plan 3")
    await keys.press("approve")


async def use_again(tab: Tab, keys: Keys) -> None:
    """Saved with a parameter; used from the library; approved by Ctrl+Enter. Dialogs give the focus back."""
    await tab.sees("template-new")
    await keys.press("template-new")
    await expect(tab("template-name")).to_be_focused()
    await keys.to("template-value")
    await tab.page.keyboard.press("Space")
    await keys.press("template-save")
    await tab.sees("template-saved")
    await expect(tab("template-close")).to_be_focused()
    await tab.page.keyboard.press("Enter")
    await expect(tab("template-new")).to_be_focused()
    await keys.press("library-open")
    await tab.sees("library")
    await keys.to("library", "Questions")
    await keys.times("ArrowRight", 1)
    await keys.press("template-use")
    await expect(tab("argument-email")).to_be_focused()
    await keys.write(USER["email"])
    await tab.sees("approve")
    await expect(tab.page.get_by_role("main")).to_be_focused()
    await tab.page.keyboard.press("Control+Enter")
    await tab.sees("answer", "steps were carried out")
