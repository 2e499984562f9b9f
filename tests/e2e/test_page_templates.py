"""Templates on the page: learned from what a session did, read from a file, and run by themselves."""

import json
from datetime import datetime, timedelta

import httpx2
import pytest
from playwright.async_api import Browser, expect

from tests.e2e.browser import WIDE, Person, Tab
from tests.e2e.running import Parley
from tests.e2e.store_requests import PENDING, USER

pytestmark = pytest.mark.timeout(120)
NAME = "Look an order up for me"
DOCUMENT = f"""
name: {NAME}
goal: Look {{{{params.order}}}} up
parameters:
  - name: order
    json_schema: {{type: string}}
steps:
  - id: s1
    text: Look it up
    tool: get_order_details
    arguments: {{order_id: "{{{{params.order}}}}"}}
"""
CHOSEN = json.dumps(json.dumps({"workflow": "execution_plan", "world": "own"}))
REFUSED = ("status of 422",)
TWICE = "name: one\nname: two\n"


async def library(tab: Tab) -> None:
    await tab.press("library-open")
    await tab.press("templates-tab")
    await tab.sees("template")


async def give(tab: Tab, name: str, text: str) -> None:
    """Choose a file, as the file dialog would."""
    async with tab.page.expect_file_chooser() as chosen:
        await tab.press("template-import")
    await (await chosen.value).set_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})


async def test_a_template_is_learned_from_what_a_session_did(browser: Browser, running: Parley) -> None:
    name = USER["name"]
    request = (
        f"Hi, my name is {name['first_name']} {name['last_name']}, zip code {USER['address']['zip']}. "
        f"What is the status of order {PENDING[0]}?"
    )
    async with (
        httpx2.AsyncClient(base_url=f"{running.url.rstrip('/')}/api", timeout=60) as http,
        Person(browser, running.url, viewport=WIDE) as person,
    ):
        begun = (await http.post("/sessions", json={"request": request, "workflow": "agentflow"})).json()
        tab = await person.tab(f"/s/{begun['session_id']}")
        await tab.sees("answer")
        await tab.press("session-menu")
        await tab.press("menu-template")
        await tab("template-name").fill("Ask for the status")
        value = tab("template-value").filter(has_text=name["last_name"])
        await value.get_by_role("checkbox").check()
        wrong = await tab.wrong_looks("learning a template")
        await tab.press("template-save")
        await tab.sees("template-saved", "Ask for the status")
        await tab.press("template-close")
        page = (await http.get("/templates")).json()
        (learned,) = [one for one in page["templates"] if one["name"] == "Ask for the status"]
        assert learned["parameters"] == ["last_name"]
        assert wrong == []


async def test_a_file_becomes_a_template_and_a_template_a_file(browser: Browser, running: Parley) -> None:
    async with Person(browser, running.url, viewport=WIDE) as person:
        tab = await person.tab()
        await library(tab)
        for file, text, why in (
            ("order.yaml", TWICE, "“name” stands twice"),
            ("empty.json", "", "The file is empty."),
            ("large.yaml", "#" * 250_001, "too large"),
            ("unknown.json", json.dumps({"name": "x"}), "goal"),
        ):
            await give(tab, file, text)
            await tab.sees("error", why)
        person.forgiven = REFUSED
        await give(tab, "order.yaml", DOCUMENT)
        mine = tab("template").filter(has_text=NAME)
        await expect(mine).to_have_count(1)
        await tab.gone("error")
        async with tab.page.expect_download() as download:
            await mine.get_by_test_id("template-download").click()
        path = await (await download.value).path()
        assert "{{params.order}}" in path.read_text()
        await give(tab, "again.yaml", path.read_text())
        await expect(mine).to_have_count(2)


async def test_a_template_is_run_each_day_or_once_or_by_hand(browser: Browser, running: Parley) -> None:
    async with (
        httpx2.AsyncClient(base_url=f"{running.url.rstrip('/')}/api", timeout=60) as http,
        Person(browser, running.url, viewport=WIDE, timezone_id="Asia/Tokyo") as person,
    ):
        await person.context.add_init_script(f"localStorage.setItem('parley.choice', {CHOSEN})")
        made = (await http.post("/templates", json={"document": DOCUMENT.replace(NAME, "Every morning")})).json()
        tab = await person.tab()
        await tab.press("templates-open")  # where one is begun: it stays when the window becomes narrow
        mine = tab("template").filter(has_text="Every morning")
        await mine.get_by_test_id("template-schedule").click()
        await tab("schedule-when").get_by_text("Every day").click()
        await tab.press("schedule-save")
        await expect(tab("schedule-form")).to_contain_text("Choose a time.")
        await expect(tab("schedule-form")).to_contain_text("This is needed.")
        wrong = await tab.wrong_looks("schedule")
        await tab("schedule-time").fill("07:30")
        await tab("argument-order").fill(PENDING[0])
        await tab.press("schedule-save")
        await expect(mine).to_contain_text("next run")
        daily = (await http.get(f"/templates/{made['id']}")).json()["schedule"]
        assert (daily["daily"], daily["zone"], daily["values"]) == ("07:30:00", "Asia/Tokyo", {"order": PENDING[0]})

        await mine.get_by_test_id("template-schedule").click()
        await expect(tab("schedule-time")).to_have_value("07:30")
        await tab("schedule-when").get_by_text("Once").click()
        await tab("schedule-date").fill("2020-01-01T10:00")
        await tab.press("schedule-save")
        await tab.sees("error", "in the future")
        person.forgiven = REFUSED
        soon = (datetime.now() + timedelta(days=3)).replace(second=0, microsecond=0)
        await tab("schedule-date").fill(soon.isoformat(timespec="minutes"))
        await tab.press("schedule-save")
        await expect(mine).to_contain_text("next run")
        once = datetime.fromisoformat((await http.get(f"/templates/{made['id']}")).json()["schedule"]["once"])
        assert (once.utcoffset(), once.hour, once.minute) == (timedelta(0), (soon.hour - 9) % 24, soon.minute)

        await mine.get_by_test_id("template-schedule").click()
        await tab("schedule-when").get_by_text("Only when I use it").click()
        await tab.press("schedule-save")
        await expect(mine).to_be_visible()
        await expect(mine).not_to_contain_text("next run")
        assert wrong + await tab.wrong_looks("templates") == []
