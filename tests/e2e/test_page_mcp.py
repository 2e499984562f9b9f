"""A public reference server of the Model Context Protocol, used from the page, with all services."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import expect

from retail.generate import generate
from tests.e2e.browser import Person
from tests.e2e.running import Parley, parley

pytestmark = pytest.mark.timeout(120)
USER = next(iter(generate()["users"].values()))
TOKYO = '{"timezone": "Asia/Tokyo"}'


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parley]:
    """A Parley that knows the time, but not whether telling it changes anything."""
    home = tmp_path_factory.mktemp("home")
    server = {
        "command": sys.executable,
        "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"],
        "policy": "always",
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"time": server}}))
    async with parley(home, PARLEY_MCP=str(home / "mcp.json")) as running:
        await offered(running, "time.get_current_time")
        yield running


async def offered(running: Parley, tool: str) -> None:
    """Until the server has come: Parley does not wait for it, and tells nobody when it is there."""
    async with asyncio.timeout(30), httpx2.AsyncClient(base_url=running.url) as http:
        while tool not in (await http.get("api/tools")).text:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_a_tool_of_a_server_is_approved_and_run(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab("workflow").get_by_text("Act with tools").click()
    await tab("composer").fill(f"Call time.get_current_time with {TOKYO}")
    await tab.page.keyboard.press("Enter")
    await tab.sees("approval-request", "time.get_current_time")
    await tab.press("action-approve")
    await tab.sees("answer", "Asia/Tokyo")
    await expect(tab("action").last).to_have_attribute("data-state", "finished")


async def test_a_person_who_takes_over_has_the_same_tools(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab("workflow").get_by_text("Act with tools").click()
    await tab("composer").fill(f"I am {USER['email']}. I want to speak with a human being.")
    await tab.page.keyboard.press("Enter")
    await tab.sees("take-over")
    await tab("tool-search").fill("current time")
    await tab("tool").filter(has_text="time.get_current_time").click()
    await tab("argument-timezone").fill("Europe/Oslo")
    await tab.press("tool-run")
    await expect(tab("turn").last.get_by_test_id("turn-by")).to_have_text("You")
    await expect(tab("action-gist").last).to_contain_text("Europe/Oslo")
