"""Coming in by a link and going out again, in a browser: who becomes whom, and what the page says about it."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.browser import Person
from tests.support.gateway import SECRET
from tests.support.parley import in_process

pytestmark = pytest.mark.timeout(120)
KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
FORGIVEN = ("401", "WebSocket connection")


async def user_of(page: Page) -> str:
    return str(await page.evaluate("fetch('/api/me').then((answer) => answer.json()).then((me) => me.user)"))


async def led_astray(page: Page, link: str) -> None:
    """To a page of somebody else, and from there by itself to this link."""

    async def evil(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=f"<script>location = '{link}'</script>")

    await page.route("http://evil.example/**", evil)
    await page.goto("http://evil.example/")
    await page.wait_for_url(link)


async def test_a_foreign_page_makes_nobody_somebody_else(browser: Browser, tmp_path: Path) -> None:
    async with (
        in_process(tmp_path, **KEYS) as parley,
        Person(browser, parley.url) as person,
    ):
        hers = await person.tab("/?token=ka")
        await hers.sees("composer")
        assert await user_of(hers.page) == "alice"
        other = await person.tab()
        await led_astray(other.page, f"{parley.url}/?token=kb")
        button = other.page.get_by_role("button", name="Log in as bob")
        await expect(button).to_be_visible()
        assert await other.wrong_looks("question") == []
        assert await user_of(hers.page) == "alice"
        await other.page.get_by_role("link", name="Cancel").click()
        await other.sees("composer")
        assert await user_of(other.page) == "alice"
        await led_astray(other.page, f"{parley.url}/s/any?token=kb&x=1")
        await button.click()
        await other.page.wait_for_url(f"{parley.url}/s/any?x=1")
        assert await user_of(other.page) == "bob"


async def test_logging_out_ends_every_tab_of_the_browser(browser: Browser, tmp_path: Path) -> None:
    async with in_process(tmp_path, **KEYS) as parley, Person(browser, parley.url) as person:
        person.forgiven = FORGIVEN
        tab = await person.tab("/?token=ka")
        another = await person.tab()
        await another.sees("composer")
        await tab.sees("log-out", "alice")
        assert await tab.wrong_looks("logged in") == []
        await tab.page.set_viewport_size({"width": 1280, "height": 800})
        await tab.press("log-out")
        for one in (tab, another):
            await expect(one.page.get_by_role("heading", name="You are not logged in")).to_be_visible()
        await tab.page.reload()
        await expect(tab.page.get_by_role("heading", name="You are not logged in")).to_be_visible()


async def test_where_nobody_logs_in_nobody_logs_out(browser: Browser, tmp_path: Path) -> None:
    async with in_process(tmp_path) as parley, Person(browser, parley.url) as person:
        tab = await person.tab()
        async with tab.page.expect_response("**/api/me"):
            await tab.page.reload()
        await tab.sees("new-session")
        await tab.gone("log-out")
