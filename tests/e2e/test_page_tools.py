"""Requests with tools on the page, with all services and the rehearsal model."""

from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING


async def test_all_services_run_the_example_requests(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    before = await waiting_count(tab)
    await tab("workflow").get_by_text("Act with tools").click()
    await tab("example").nth(0).click()
    await tab.wait_for("answer", "#W3997796")
    await tab.click("new-session")
    await tab("example").nth(1).click()
    change = await tab.wait_for("change", "status")
    await expect(change.get_by_role("cell")).to_have_text(["pending", "cancelled"])
    await tab.click("action-approve")
    await tab.wait_for("answer", PENDING[0])
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.check_reload()
    await tab.click("new-session")
    await tab("example").nth(2).click()
    await tab.wait_for("change", "12 Harbor View")
    await tab.click("action-approve")
    await tab.wait_for("answer", "#W3990615")
    assert await waiting_count(tab) == before


async def waiting_count(tab: Tab) -> int:
    """How many sessions wait for the user."""
    return int(await tab.page.evaluate("async () => (await (await fetch('/api/inbox')).json()).total"))
