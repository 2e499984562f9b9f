"""Login by link and logout in a browser."""

from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.browser import Person
from tests.support.gateway import SECRET
from tests.support.parley import in_process

KEYS: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
EXPECTED_ERRORS = ("401", "WebSocket connection")


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
        first = await person.tab("/?token=ka")
        await first.wait_for("composer")
        assert await user_of(first.page) == "alice"
        second = await person.tab()
        await follow_link_from_foreign_page(second.page, f"{parley.url}/?token=kb")
        button = second.page.get_by_role("button", name="Log in as bob")
        await expect(button).to_be_visible()
        assert await second.visual_problems("question") == []
        assert await user_of(first.page) == "alice"
        await second.page.get_by_role("link", name="Cancel").click()
        await second.wait_for("composer")
        assert await user_of(second.page) == "alice"
        await follow_link_from_foreign_page(second.page, f"{parley.url}/s/any?token=kb&x=1")
        await button.click()
        await second.page.wait_for_url(f"{parley.url}/s/any?x=1")
        assert await user_of(second.page) == "bob"


async def test_logging_out_logs_every_tab_of_the_browser_out(browser: Browser, tmp_path: Path) -> None:
    async with in_process(tmp_path, **KEYS) as parley, Person(browser, parley.url) as person:
        person.expected_errors = EXPECTED_ERRORS
        tab = await person.tab("/?token=ka")
        second = await person.tab()
        await second.wait_for("composer")
        await tab.wait_for("log-out", "alice")
        assert await tab.visual_problems("logged in") == []
        await tab.page.set_viewport_size({"width": 1280, "height": 800})
        await tab.click("log-out")
        for logged_out in (tab, second):
            await expect(logged_out.page.get_by_role("heading", name="You are not logged in")).to_be_visible()
        await tab.page.reload()
        await expect(tab.page.get_by_role("heading", name="You are not logged in")).to_be_visible()
