"""Templates on the page: saved from a session, imported, and scheduled."""

import json
from datetime import datetime, timedelta

from playwright.async_api import Browser, expect

from tests.e2e.browser import WIDE, Person, Tab
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING, USER
from tests.support.http_client import http_client

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
STORED_CHOICE = json.dumps(json.dumps({"workflow": "execution_plan", "world": "own"}))
EXPECTED_ERRORS = ("status of 422",)
DUPLICATE_NAME = "name: one\nname: two\n"


async def open_templates(tab: Tab) -> None:
    await tab.click("library-open")
    await tab.click("templates-tab")
    await tab.wait_for("template")


async def choose_file(tab: Tab, name: str, text: str) -> None:
    """Imports a file with this name and text, as if the user chose it in the file dialog."""
    async with tab.page.expect_file_chooser() as chooser:
        await tab.click("template-import")
    await (await chooser.value).set_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})


async def test_a_template_is_saved_from_a_session(browser: Browser, running: RunningParley) -> None:
    name = USER["name"]
    request = (
        f"Hi, my name is {name['first_name']} {name['last_name']}, zip code {USER['address']['zip']}. "
        f"What is the status of order {PENDING[0]}?"
    )
    async with (
        http_client(base_url=f"{running.url.rstrip('/')}/api") as http,
        Person(browser, running.url, viewport=WIDE) as person,
    ):
        started = (await http.post("/sessions", json={"request": request, "workflow": "agentflow"})).json()
        tab = await person.tab(f"/s/{started['session_id']}")
        await tab.wait_for("answer")
        await tab.click("session-menu")
        await tab.click("menu-template")
        await tab("template-name").fill("Ask for the status")
        value = tab("template-value").filter(has_text=name["last_name"])
        await value.get_by_role("checkbox").check()
        problems = await tab.visual_problems("learning a template")
        await tab.click("template-save")
        await tab.wait_for("template-saved", "Ask for the status")
        await tab.click("template-close")
        page = (await http.get("/templates")).json()
        (template,) = [line for line in page["templates"] if line["name"] == "Ask for the status"]
        assert template["parameters"] == ["last_name"]
        assert problems == []


async def test_a_template_is_imported_and_exported(browser: Browser, running: RunningParley) -> None:
    async with Person(browser, running.url, viewport=WIDE) as person:
        tab = await person.tab()
        await open_templates(tab)
        for file, text, why in (
            ("order.yaml", DUPLICATE_NAME, "“name” occurs twice"),
            ("empty.json", "", "The file is empty."),
            ("large.yaml", "#" * 250_001, "too large"),
            ("unknown.json", json.dumps({"name": "x"}), "goal"),
        ):
            await choose_file(tab, file, text)
            await tab.wait_for("error", why)
        person.expected_errors = EXPECTED_ERRORS
        await choose_file(tab, "order.yaml", DOCUMENT)
        template = tab("template").filter(has_text=NAME)
        await expect(template).to_have_count(1)
        await tab.wait_until_gone("error")
        async with tab.page.expect_download() as download:
            await template.get_by_test_id("template-download").click()
        path = await (await download.value).path()
        assert "{{params.order}}" in path.read_text()
        await choose_file(tab, "again.yaml", path.read_text())
        await expect(template).to_have_count(2)


async def test_a_schedule_is_daily_once_or_removed(browser: Browser, running: RunningParley) -> None:
    async with (
        http_client(base_url=f"{running.url.rstrip('/')}/api") as http,
        Person(browser, running.url, viewport=WIDE, timezone_id="Asia/Tokyo") as person,
    ):
        await person.context.add_init_script(f"localStorage.setItem('parley.choice', {STORED_CHOICE})")
        created = (await http.post("/templates", json={"document": DOCUMENT.replace(NAME, "Every morning")})).json()
        tab = await person.tab()
        await tab.click("templates-open")  # an open form stays when the window becomes narrow
        template = tab("template").filter(has_text="Every morning")
        await template.get_by_test_id("template-schedule").click()
        await tab("schedule-when").get_by_text("Every day").click()
        await tab.click("schedule-save")
        await expect(tab("schedule-form")).to_contain_text("Choose a time.")
        await expect(tab("schedule-form")).to_contain_text("This is needed.")
        problems = await tab.visual_problems("schedule")
        await tab("schedule-time").fill("07:30")
        await tab("argument-order").fill(PENDING[0])
        await tab.click("schedule-save")
        await expect(template).to_contain_text("next run")
        daily = (await http.get(f"/templates/{created['id']}")).json()["schedule"]
        assert (daily["daily"], daily["zone"], daily["values"]) == ("07:30:00", "Asia/Tokyo", {"order": PENDING[0]})

        await template.get_by_test_id("template-schedule").click()
        await expect(tab("schedule-time")).to_have_value("07:30")
        await tab("schedule-when").get_by_text("Once").click()
        await tab("schedule-date").fill("2020-01-01T10:00")
        await tab.click("schedule-save")
        await tab.wait_for("error", "in the future")
        person.expected_errors = EXPECTED_ERRORS
        soon = (datetime.now() + timedelta(days=3)).replace(second=0, microsecond=0)
        await tab("schedule-date").fill(soon.isoformat(timespec="minutes"))
        await tab.click("schedule-save")
        await expect(template).to_contain_text("next run")
        once = datetime.fromisoformat((await http.get(f"/templates/{created['id']}")).json()["schedule"]["once"])
        assert (once.utcoffset(), once.hour, once.minute) == (timedelta(0), (soon.hour - 9) % 24, soon.minute)

        await template.get_by_test_id("template-schedule").click()
        await tab("schedule-when").get_by_text("Only when I use it").click()
        await tab.click("schedule-save")
        await expect(template).to_be_visible()
        await expect(template).not_to_contain_text("next run")
        assert problems + await tab.visual_problems("templates") == []
