"""The page for people who type with an input method, write from right to left, or reach Parley below a path."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from parley.events.values import Step
from shared.domain.kernel import commands as c
from tests.e2e.browser import Person
from tests.support.gateway import SECRET, World, serving
from tests.support.parley import in_process
from tests.support.path_proxy import path_proxy

LISTS = ("Failed to load resource",)  # this store has no session lists
HEBREW = "צור קובץ report_v2.txt והרץ `ls -la` 3 פעמים."
# Presses a key as an input method does: while it composes, or as Safari ends a composition.
COMPOSE = """(field, [key, isComposing]) => field.dispatchEvent(
  new KeyboardEvent('keydown', {key, keyCode: 229, bubbles: true, cancelable: true, isComposing}))"""
# How many texts have Hebrew letters, and which of them do not run from right to left.
LEFT_TO_RIGHT = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const result = {texts: 0, wrong: []};
  for (let node; (node = walker.nextNode()); ) {
    if (!/[\\u0590-\\u05ff]/.test(node.data) || !node.parentElement.checkVisibility()) continue;
    const {direction, unicodeBidi} = getComputedStyle(node.parentElement);
    result.texts++;
    if (direction !== 'rtl' && unicodeBidi !== 'plaintext') result.wrong.push(node.data);
  }
  return result;
}"""
# Whether the final point of the text stands at its left end.
POINT_IS_LEFT = """(element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let first = walker.nextNode(), last = first;
  for (let node; (node = walker.nextNode()); ) last = node;
  const range = document.createRange();
  const x = (node, at) => (range.setStart(node, at), range.setEnd(node, at + 1), range.getBoundingClientRect().x);
  return x(last, last.data.trimEnd().length - 1) < x(first, 0);
}"""


async def compose(field: Locator, key: str) -> None:
    for is_composing in (True, False):
        await field.evaluate(COMPOSE, [key, is_composing])


async def test_an_input_methods_keys_neither_send_nor_close(browser: Browser) -> None:
    world = World()
    await world.story("s").plan()
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = LISTS
        tab = await person.tab("/s/s")
        await tab.wait_for("approve")
        before = len(await world.store.events("s"))
        for name, opener in (("composer", ""), ("feedback-input", "feedback"), ("step-text-input", "step-text")):
            if opener:
                await tab(opener).first.click()
            await tab(name).fill("にほん")
            for key in ("Enter", "Escape", "Tab", "ArrowDown"):
                await compose(tab(name), key)
            await expect(tab(name)).to_have_value("にほん")
        await expect(tab("plan-step")).to_have_count(3)
        assert len(await world.store.events("s")) == before
        await tab("feedback-input").press("Enter")
        await tab.wait_for_state("text_plan_generation")


async def test_hebrew_runs_from_right_to_left(browser: Browser) -> None:
    world = World()
    story = world.story("s")
    await story.commit(c.Say(text=HEBREW))
    await story.commit(c.DraftPlan(goal=HEBREW, steps=(Step(text=HEBREW), Step(text="An English step")), notes=HEBREW))
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = LISTS
        tab = await person.tab("/s/s")
        await tab.wait_for("approve")
        found = await tab.page.evaluate(LEFT_TO_RIGHT)
        assert found["texts"] >= 5
        assert found["wrong"] == []
        for place in ("plan-goal", "step-text", "plan-notes"):
            assert await tab(place).first.evaluate(POINT_IS_LEFT), place
        await tab("composer").fill(HEBREW)
        assert await tab("composer").evaluate("(field) => getComputedStyle(field).unicodeBidi") == "plaintext"


@pytest.mark.parametrize("prefix_stays", [True, False])
async def test_parley_works_below_a_path(browser: Browser, tmp_path: Path, prefix_stays: bool) -> None:
    keys: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka", "parley_secret": SECRET}
    async with (
        in_process(tmp_path, **keys) as parley,
        path_proxy(parley.url.removeprefix("http://"), "/tools/parley") as below,
        Person(browser, f"{parley.url}/tools/parley" if prefix_stays else below) as person,
    ):
        tab = await person.tab("/?token=ka")
        await tab.send("Hello below the path")
        await expect(tab.page).to_have_url(re.compile(r"/tools/parley/s/\w+$"))
        await tab.page.reload()
        await expect(tab.page.locator("main").get_by_text("Hello below the path").first).to_be_visible()
        await tab.click("new-session")
        await expect(tab.page).to_have_url(f"{parley.url}/tools/parley/" if prefix_stays else f"{below}/")
        await tab.page.go_back()
        await expect(tab.page.locator("main").get_by_text("Hello below the path").first).to_be_visible()


async def test_a_key_is_typed_on_the_login_page(browser: Browser, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka", "parley_secret": SECRET}
    async with in_process(tmp_path, **keys) as parley, Person(browser, parley.url) as person:
        person.expected_errors = ("401", "WebSocket connection")
        tab = await person.tab()
        field = await tab.wait_for("login-key")
        await expect(field).to_be_focused()
        await expect(field).to_have_attribute("autocomplete", "current-password")
        assert await tab.visual_problems("login") == []
        await tab.page.keyboard.type("wrong")
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.get_by_text("This key is not valid")).to_be_visible()
        await field.fill("ka")
        await tab.page.keyboard.press("Enter")
        await tab.wait_for("composer")
