"""A public reference server of the Model Context Protocol, used from the page."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.store_requests import ESCALATED, Customer, Replies, call, turn
from tests.support.parley import InProcess, in_process

pytestmark = pytest.mark.timeout(120)
TIME = "time.get_current_time"
TOKYO: Replies = {
    "turn": [turn("Tell the time", call(TIME, "Look at the clock", timezone="Asia/Tokyo"), final=True)],
    "turn_verdict": {"status": "success", "next_action": "complete", "reasoning": "It is known."},
    "answer": {"text": "This is the time in Tokyo.", "confidence": 0.9, "evidence": ["1.1"]},
}


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    """A Parley that knows the time, but not whether telling it changes anything."""
    home = tmp_path_factory.mktemp("home")
    server = {
        "command": sys.executable,
        "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"],
        "policy": "always",
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"time": server}}))
    async with in_process(home, parley_mcp_config=home / "mcp.json") as parley:
        await offered(parley, TIME)
        yield parley


async def offered(parley: InProcess, tool: str) -> None:
    """Until the server has come: Parley does not wait for it, and tells nobody when it is there."""
    async with asyncio.timeout(30), httpx2.AsyncClient(base_url=parley.url) as http:
        while tool not in (await http.get("api/tools")).text:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


@pytest_asyncio.fixture(loop_scope="package")
async def customer(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    async with Customer(browser, parley) as customer:
        yield customer


async def test_a_tool_of_a_server_is_approved_and_run(customer: Customer) -> None:
    tab = await customer.says("What is the time in Tokyo?", TOKYO)
    await tab.sees("approval-request", TIME)
    await tab.press("action-approve")
    await tab.sees("answer", "Tokyo")
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    (finished,) = [event for event in await tab.events() if event["type"] == "actions.finished"]
    (outcome,) = finished["outcomes"]
    assert "+09:00" in json.dumps(outcome["result"])


async def test_a_person_who_takes_over_has_the_same_tools(customer: Customer) -> None:
    tab = await customer.says("I want to speak with a human being.", ESCALATED)
    await tab.sees("take-over")
    await tab("tool-search").fill("current time")
    await tab("tool").filter(has_text=TIME).click()
    await tab("argument-timezone").fill("Europe/Oslo")
    await tab.press("tool-run")
    await expect(tab("turn").last.get_by_test_id("turn-by")).to_have_text("You")
    await expect(tab("action-gist").last).to_contain_text("Europe/Oslo")
