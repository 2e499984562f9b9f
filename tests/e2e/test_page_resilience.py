"""The page while the log is unavailable, and with refused or oversized input: it never loses what the user typed.

The gateway is real, with a bus and a store in memory.
"""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from parley.events import Due, SessionEvent
from services.gateway.live import socket
from shared.domain.kernel import commands as c
from shared.log import LogUnavailable
from tests.e2e.browser import Person, Tab
from tests.support import serving as any_app
from tests.support.gateway import World, serving

LISTS = ("Failed to load resource",)  # this store has no session lists
# The distance in pixels between the centres of a button and its loader.
LOADER_OFFSET = """(button) => {
  const loader = button.querySelector('.mantine-Button-loader');
  const boxes = [button, loader].map((element) => element.getBoundingClientRect());
  const [[x, y], [at, down]] = boxes.map((box) => [box.x + box.width / 2, box.y + box.height / 2]);
  return Math.hypot(x - at, y - down);
}"""


async def test_an_approval_is_recorded_once_when_the_log_is_back(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "SLOW_SECONDS", 0.2)
    world = World()
    await world.story("s").plan()
    append = world.log.append

    async def append_unless_down(event: SessionEvent, *, after: int, due: Due) -> int:
        if world.store.down:
            raise LogUnavailable("The log does not answer.")
        return await append(event, after=after, due=due)

    monkeypatch.setattr(world.log, "append", append_unless_down)
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = LISTS
        tab = await person.tab("/s/s")
        await tab.wait_for("approve")
        world.store.down = True
        await tab.click("approve")
        await expect(tab.page.get_by_text("Retrying")).to_be_visible()
        await expect(tab("approve")).to_have_attribute("data-loading", "true")
        assert await tab("approve").evaluate(LOADER_OFFSET) < 2
        assert await tab.page.get_by_role("alert").count() == 0, "nothing was refused"
        world.store.down = False
        await tab.wait_for_state("code_generation")
        await tab.wait_until_gone("approve")
        await expect(tab.page.get_by_text("Retrying")).to_have_count(0)
    stored = [event.type for event in await world.store.events("s")]
    assert stored.count("plan.approved") == 1


async def test_refused_text_returns_to_the_composer(browser: Browser) -> None:
    world = World()
    await world.story("s").plan()
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = LISTS
        tab = await person.tab("/s/s")
        await tab.wait_for("approve")
        await tab.send("Smaller\0please")
        await tab.wait_for("error", "NUL character")
        await expect(tab("composer")).to_have_value("Smaller\0please")
        await tab("composer").fill("a" * 50_001)
        await tab.wait_for("too-long", "50,001 characters")
        await expect(tab("send")).to_be_disabled()
        await tab.page.keyboard.press("Enter")
        await tab("composer").fill("Smaller, please")
        await tab.click("send")
        await tab.wait_for("status", "planner is replying to you")
    session = await world.story("s").load()
    assert [message.text for message in session.words.unread] == ["Smaller, please"]


async def test_a_tab_over_the_connection_limit_waits(browser: Browser) -> None:
    world = World(max_sockets_per_user=1)
    await world.story("s").plan()
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = (*LISTS, "WebSocket connection to")
        first = await person.tab("/s/s")
        await first.wait_for("approve")
        second = await person.tab("/s/s")
        await second.wait_for("status", "Too many requests or open tabs")
        await first.page.close()
        await second.wait_for("approve")


async def test_a_connection_that_is_not_open_yet_is_left_without_an_error(browser: Browser) -> None:
    world = World()
    await world.story("s").plan()
    answers = asyncio.Event()

    async def slow_to_connect(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await answers.wait()
        await world.app(scope, receive, send)

    async with any_app.serving(slow_to_connect) as url, Person(browser, url) as person:
        person.expected_errors = LISTS
        tab = await person.tab("/s/s")
        await tab.click("new-session")
        await expect(tab.page).to_have_url(f"{url}/")
        answers.set()
        await tab.page.go_back()
        await tab.wait_for("approve")


async def test_a_part_that_does_not_load_leaves_the_rest_usable(browser: Browser) -> None:
    """As after a change of networks, or where a new release has removed the file."""
    world = World()
    await world.story("s").plan()
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = (
            "Failed to load resource",
            "Failed to fetch dynamically imported module",
            "LazyBoundary",
        )
        await person.context.route("**/assets/PlanPanel-*.js", lambda route: route.abort())
        tab = await person.tab("/s/s")
        await expect(tab("part-failed")).to_contain_text("What you have typed is kept")
        await tab("composer").fill("half a sentence")
        await person.context.unroute_all()
        await tab("part-failed").get_by_role("button").click()
        await tab.wait_for("approve")
        await expect(tab("composer")).to_have_value("half a sentence")


async def test_wide_code_scrolls_under_its_line_numbers(browser: Browser) -> None:
    world = World()
    story = world.story("s")
    version = (await story.plan()).version
    await story.commit(c.Approve(version=version))
    await story.codes("print(1)  # " + "wide " * 100 + "\n")
    async with serving(world.app) as address, Person(browser, f"http://{address}") as person:
        person.expected_errors = LISTS
        tab = await person.tab("/s/s")
        await check_typing_over_selection(tab)
        gutter = tab("code-text").locator(".cm-gutters")
        assert await gutter.evaluate("(element) => getComputedStyle(element).backgroundColor") != "rgba(0, 0, 0, 0)"


async def check_typing_over_selection(tab: Tab) -> None:
    """Typing or pasting over a selection replaces it, and undo restores it."""
    await tab.click("code-edit")
    field = tab("code-text").locator(".cm-content[contenteditable=true]")
    await field.click()
    before = await field.inner_text()
    for keys in ("Control+a", "Control+Home Shift+End"):
        for key in keys.split():
            await tab.page.keyboard.press(key)
        await tab.page.keyboard.type("x = 1")
        await expect(field).to_have_text("x = 1")
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.insert_text("a = 1\nb = 2")
    await expect(field.locator(".cm-line")).to_have_text(["a = 1", "b = 2"])
    for _ in range(9):
        await tab.page.keyboard.press("Control+z")
    assert await field.inner_text() == before
