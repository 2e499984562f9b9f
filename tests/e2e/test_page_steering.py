"""Execution plans on the page: skip a failed step, cancel, compare versions, edit a running plan."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, expect

from tests.e2e.browser import WIDE, Person, Tab
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING, USER
from tests.support.http_client import http_client
from tests.support.http_server import HttpServer, Received, response
from tests.support.timeouts import WAIT_TIMEOUT

FIND, FAILING, DEPENDENT, LAST = "Find the customer", "Look up an order", "Look it up again", "Find them again"
EMAIL = {"email": USER["email"]}
STEPS: list[dict[str, Any]] = [
    {"id": "s1", "text": FIND, "tool": "find_user_id_by_email", "arguments": EMAIL},
    {"id": "s2", "text": FAILING, "tool": "get_order_details", "arguments": {"order_id": "#W0000000"}, "after": ["s1"]},
    {
        "id": "s3",
        "text": DEPENDENT,
        "tool": "get_order_details",
        "arguments": {"order_id": "{{steps.s2.output.order_id}}"},
    },
    {"id": "s4", "text": LAST, "tool": "find_user_id_by_email", "arguments": EMAIL, "after": ["s3"]},
]


@asynccontextmanager
async def tab_with_failed_step(browser: Browser, running: RunningParley, **options: Any) -> AsyncIterator[Tab]:
    """Opens the page of a session whose second step has failed."""
    async with (
        http_client(base_url=f"{running.url.rstrip('/')}/api/execution-plans") as http,
        Person(browser, running.url, **options) as person,
    ):
        stored = (await http.post("/store", json={"description": "Look it up", "steps": STEPS})).json()
        approved = await http.post(
            f"/{stored['task_id']}/approve", json={"version": stored["version"], "timeout": WAIT_TIMEOUT}
        )
        assert approved.json()["status"] == "failed"
        tab = await person.tab(f"/s/{stored['session_id']}")
        await tab.wait_for("failure", "The plan is not finished")
        yield tab


async def skip(tab: Tab, step: str) -> None:
    await tab.page.get_by_role("button", name=f"Skip: t2.{step}", exact=True).click()
    await tab.wait_for("skip-dialog")


async def test_a_failed_step_gets_an_output_that_later_steps_use(browser: Browser, running: RunningParley) -> None:
    async with tab_with_failed_step(browser, running, viewport=WIDE) as tab:
        await skip(tab, "s2")
        await expect(tab("skip-users")).to_have_text(f"3. {DEPENDENT}")
        problems = await tab.visual_problems("skip dialog")
        output = tab("skip-output")
        for typed, problem in (
            ("", "Write the output"),
            ('{"order_id": ', "begins like JSON"),
            ("null", "null is no output"),
        ):
            await output.fill(typed)
            await tab.click("skip-give")
            await expect(tab("skip-dialog")).to_contain_text(problem)
        await output.fill(f'{{"order_id": "{PENDING[0]}"}}')
        await tab.click("skip-give")
        await tab.wait_until_gone("skip-dialog")
        await tab.wait_for("answer", f"You gave the output of “{FAILING}” instead.")
        action = tab("action").filter(has_text=FAILING)
        await expect(action).to_have_attribute("data-state", "skipped")
        await expect(action).to_contain_text("output given")
        await expect(tab("action").filter(has_text=DEPENDENT)).to_have_attribute("data-state", "finished")
        assert problems == []
        await tab.check_reload()


async def test_a_comparison_lists_step_changes_and_authors(browser: Browser, running: RunningParley) -> None:
    async with tab_with_failed_step(browser, running, viewport=WIDE) as tab:
        await tab.page.get_by_role("button", name="Move step 4 up", exact=True).click()
        await tab("step-argument").nth(1).click()
        await tab("step-argument-input").fill(PENDING[0])
        await tab.click("edit-save")
        await tab.wait_for("plan-review", "Plan 2")
        await tab.click("what-changed")
        changes = tab("step-change")
        assert [await change.get_attribute("data-what") for change in await changes.all()] == [
            "same",
            "changed",
            "same",
            "moved",
        ]
        await expect(changes.last).to_be_in_viewport()  # although longer steps were inserted
        await expect(changes.first).to_contain_text("done")
        await expect(changes.first).not_to_contain_text("as before")
        await expect(tab("version-origin")).to_have_text("Version 2 · Edited by you")
        assert await tab.visual_problems("difference") == []


async def test_a_running_plan_is_edited_and_approved_after_the_current_step(
    browser: Browser, running: RunningParley, outside: HttpServer
) -> None:
    edited = asyncio.Event()

    async def respond_after_edit(_: Received, writer: asyncio.StreamWriter) -> None:
        await edited.wait()
        writer.write(response(b"tea"))

    outside.answers["/held"] = respond_after_edit
    steps = [
        {"id": "s1", "text": "Fetch", "tool": "fetch_url", "arguments": {"url": outside.url("/held")}},
        {"id": "s2", "text": "Count", "tool": "calculate", "arguments": {"expression": "1 + 1"}, "after": ["s1"]},
    ]
    async with (
        http_client(base_url=f"{running.url.rstrip('/')}/api/execution-plans") as http,
        Person(browser, running.url) as person,
    ):
        stored = (await http.post("/store", json={"description": "Count", "steps": steps})).json()
        tab = await person.tab(f"/s/{stored['session_id']}")
        await tab.click("approve")
        await expect(tab("action").first).to_have_attribute("data-state", "started")
        await tab.click("show-work")
        await tab("step-argument").last.click()
        await tab("step-argument-input").fill("2 + 2")
        await tab.wait_for("edit-pauses", "no other begins")
        await tab.click("edit-save")
        await tab.wait_for("plan-review", "Plan 2")
        await tab.wait_for("blocked", "still running")
        await expect(tab("step-stands").first).to_have_text("running")
        await expect(tab("approve")).to_have_count(0)
        edited.set()
        await expect(tab("step-stands").first).to_have_text("done")
        await tab.click("approve")
        await tab.wait_for("answer", "All 2 steps were carried out.")
        await expect(tab("action").last).to_contain_text("4")
