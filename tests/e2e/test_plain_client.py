"""A client in another language, written from docs/protocol.md alone, follows each workflow in both protocols."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Parley

pytestmark = pytest.mark.timeout(180)  # the first of them may start a Parley
PROGRAM = Path(__file__).parent / "plain_client.mjs"
ORDER = "My name is Tara Foster, zip 95837. Cancel order #W3833642, I no longer need it."
REQUESTS = {
    "conversation": "Help me create a simple calculator",
    "agentflow": ORDER,
    "flow": "Which 5 states have the most pending orders?",
}
TOLD = {
    "conversation": ("text_plan_review", "code_review"),
    "agentflow": ("approval_request", "answer"),
    "flow": ("question", "answer"),
}


async def follows(url: str, workflow: str) -> dict[str, Any]:
    """What the client has of the session at its end."""
    settings = json.dumps({"world": "own"})  # the order can be cancelled in each of them
    command = ("node", "--experimental-websocket", str(PROGRAM), url, workflow, REQUESTS[workflow], settings)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("workflow", REQUESTS)
async def test_by_protocol_1(running: Parley, workflow: str) -> None:
    found = await follows(running.socket_url, workflow)
    assert not found.get("failure"), found
    assert set(TOLD[workflow]) < set(found["kinds"])
    assert found["kinds"][-1] == "continue"


@pytest.mark.parametrize("workflow", REQUESTS)
async def test_by_protocol_2(running: Parley, workflow: str) -> None:
    found = await follows(f"{running.socket_url}?view=2", workflow)
    assert not found["failure"], found["failure"]
    assert set(found["kinds"]) == {"event"}
    assert found["view"]["phase"] == "resting"
    entries = {one["kind"] for one in found["journal"]}
    if workflow == "conversation":
        assert found["view"]["code"]["status"] == "approved"
        assert {"said", "plan", "code", "note"} <= entries
    else:
        assert found["view"]["answer"]["text"]
        assert {one["state"] for one in found["journal"] if one["kind"] == "action"} <= {"finished", "dropped"}
        assert {"said", "turn", "action", "answer"} <= entries
