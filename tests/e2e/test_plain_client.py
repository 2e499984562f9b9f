"""A JavaScript client, written from docs/protocol.md alone, follows each workflow in both protocols."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.parley_process import RunningParley
from tests.support.timeouts import WAIT_TIMEOUT

PROGRAM = Path(__file__).parent / "plain_client.mjs"
ORDER = "My name is Tara Foster, zip 95837. Cancel order #W3833642, I no longer need it."
REQUESTS = {
    "conversation": "Help me create a simple calculator",
    "agentflow": ORDER,
    "flow": "Which 5 states have the most pending orders?",
}
EXPECTED_TYPES = {
    "conversation": ("text_plan_review", "code_review"),
    "agentflow": ("approval_request", "answer"),
    "flow": ("question", "answer"),
}


async def run_client(url: str, workflow: str) -> dict[str, Any]:
    """Runs the client; returns its result."""
    settings = json.dumps({"world": "own"})  # the order can be cancelled in each session
    command = ("node", "--experimental-websocket", str(PROGRAM), url, workflow, REQUESTS[workflow], settings)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(WAIT_TIMEOUT):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    result: dict[str, Any] = json.loads(out)
    return result


@pytest.mark.parametrize("workflow", REQUESTS)
async def test_a_workflow_by_protocol_1(running: RunningParley, workflow: str) -> None:
    result = await run_client(running.socket_url, workflow)
    assert not result.get("failure"), result
    assert set(EXPECTED_TYPES[workflow]) < set(result["kinds"])
    assert result["kinds"][-1] == "continue"


@pytest.mark.parametrize("workflow", REQUESTS)
async def test_a_workflow_by_protocol_2(running: RunningParley, workflow: str) -> None:
    result = await run_client(f"{running.socket_url}?view=2", workflow)
    assert not result["failure"], result["failure"]
    assert set(result["kinds"]) == {"event"}
    assert result["view"]["phase"] == "resting"
    entries = {entry["kind"] for entry in result["journal"]}
    if workflow == "conversation":
        assert result["view"]["code"]["status"] == "approved"
        assert {"said", "plan", "code", "decision"} <= entries
    else:
        assert result["view"]["answer"]["text"]
        assert {entry["state"] for entry in result["journal"] if entry["kind"] == "action"} <= {"finished", "dropped"}
        assert {"said", "turn", "action", "answer"} <= entries
