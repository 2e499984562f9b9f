"""A public MCP reference server, used from the page."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.store_user import Customer, Replies, call, turn
from tests.support.http_client import http_client
from tests.support.parley import InProcess, in_process
from tests.support.timeouts import WAIT_TIMEOUT

TIME = "time.get_current_time"
TOKYO: Replies = {
    "turn": [turn("Tell the time", call(TIME, "Look at the clock", timezone="Asia/Tokyo"), final=True)],
    "turn_verdict": {"status": "success", "next_action": "complete", "reasoning": "It is known."},
    "answer": {"text": "This is the time in Tokyo.", "confidence": 0.9, "evidence": ["1.1"]},
}


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    """A Parley with the MCP time server, whose tools do not declare their effects."""
    home = tmp_path_factory.mktemp("home")
    server = {
        "command": sys.executable,
        "args": ["-m", "mcp_server_time", "--local-timezone", "UTC"],
        "policy": "always",
    }
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"time": server}}))
    async with in_process(home, parley_mcp_config=home / "mcp.json") as parley:
        await wait_for_tool(parley, TIME)
        yield parley


async def wait_for_tool(parley: InProcess, tool: str) -> None:
    """Waits until the server's tool is available: Parley starts without waiting for it, and sends no notice."""
    async with asyncio.timeout(WAIT_TIMEOUT), http_client(base_url=parley.url) as http:
        while tool not in (await http.get("api/tools")).text:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


@pytest_asyncio.fixture(loop_scope="package")
async def customer(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    async with Customer(browser, parley) as customer:
        yield customer


async def test_an_mcp_tool_is_approved_and_run(customer: Customer) -> None:
    tab = await customer.request("What is the time in Tokyo?", TOKYO)
    await tab.wait_for("approval-request", TIME)
    await tab.click("action-approve")
    await tab.wait_for("answer", "Tokyo")
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    (finished,) = [event for event in await tab.events() if event["type"] == "actions.finished"]
    (outcome,) = finished["outcomes"]
    assert "+09:00" in json.dumps(outcome["result"])
