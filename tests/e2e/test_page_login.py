"""Login by link and logout in a browser."""

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


async def follow_link_from_foreign_page(page: Page, link: str) -> None:
    """Opens a foreign page, which redirects to this link."""

    async def evil(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=f"<script>location = '{link}'</script>")

    await page.route("http://evil.example/**", evil)
    await page.goto("http://evil.example/")
    await page.wait_for_url(link)


async def test_a_foreign_page_cannot_log_a_user_in_as_another(browser: Browser, tmp_path: Path) -> None:
    async with (
        in_process(tmp_path, **KEYS) as parley,
        Person(browser, parley.url) as person,
    ):
        hers = await person.tab("/?token=ka")
        await hers.wait_for("composer")
        assert await user_of(hers.page) == "alice"
        other = await person.tab()
        await follow_link_from_foreign_page(other.page, f"{parley.url}/?token=kb")
        button = other.page.get_by_role("button", name="Log in as bob")
        await expect(button).to_be_visible()
        assert await other.visual_problems("question") == []
        assert await user_of(hers.page) == "alice"
        await other.page.get_by_role("link", name="Cancel").click()
        await other.wait_for("composer")
        assert await user_of(other.page) == "alice"
        await follow_link_from_foreign_page(other.page, f"{parley.url}/s/any?token=kb&x=1")
        await button.click()
        await other.page.wait_for_url(f"{parley.url}/s/any?x=1")
        assert await user_of(other.page) == "bob"


async def test_logging_out_affects_every_tab_of_the_browser(browser: Browser, tmp_path: Path) -> None:
    async with in_process(tmp_path, **KEYS) as parley, Person(browser, parley.url) as person:
        person.expected_errors = FORGIVEN
        tab = await person.tab("/?token=ka")
        another = await person.tab()
        await another.wait_for("composer")
        await tab.wait_for("log-out", "alice")
        assert await tab.visual_problems("logged in") == []
        await tab.page.set_viewport_size({"width": 1280, "height": 800})
        await tab.click("log-out")
        for each in (tab, another):
            await expect(each.page.get_by_role("heading", name="You are not logged in")).to_be_visible()
        await tab.page.reload()
        await expect(tab.page.get_by_role("heading", name="You are not logged in")).to_be_visible()


async def test_without_login_there_is_no_logout_button(browser: Browser, tmp_path: Path) -> None:
    async with in_process(tmp_path) as parley, Person(browser, parley.url) as person:
        tab = await person.tab()
        async with tab.page.expect_response("**/api/me"):
            await tab.page.reload()
        await tab.wait_for("new-session")
        await tab.wait_until_gone("log-out")
