"""Tools over REST and the socket: lists, previews, artefacts, and taking over. The executor is a fake."""

from typing import Any

import httpx2
import pytest

from parley.events.values import ActionSpec
from parley.protocol.tools import TOOLS_LIST, TOOLS_PREVIEW, Change, ListTools, Preview, PreviewCall, ToolPage, ToolSpec
from shared.domain.kernel import commands as c
from shared.story import finish_action
from tests.support.gateway import World, client, serving
from tests.support.http_client import http_client
from tests.support.stories import Conversation

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
TOOLS = (
    ToolSpec(name="cancel_order", description="Cancel", parameters=SCHEMA, effect="write", origin="retail"),
    ToolSpec(name="find_order", description="Find", parameters=SCHEMA, effect="read", origin="retail"),
)
KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=a,bob=b", "parley_secret": "s" * 40}


class Executor:
    """Answers like the executor, and records the requests."""

    def __init__(self, world: World) -> None:
        self.listed: list[ListTools] = []
        self.previewed: list[PreviewCall] = []
        world.bus.answers = {TOOLS_LIST: self._list, TOOLS_PREVIEW: self._preview}

    def _list(self, data: bytes) -> bytes:
        self.listed.append(ListTools.model_validate_json(data))
        return ToolPage(tools=TOOLS, total=2, world="f" * 64).model_dump_json().encode()

    def _preview(self, data: bytes) -> bytes:
        self.previewed.append(PreviewCall.model_validate_json(data))
        change = Change(path="orders/#W1/status", before="pending", after="cancelled")
        return Preview(known=True, changes=(change,)).model_dump_json().encode()


def _rest(address: str, key: str = "") -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return http_client(base_url=f"http://{address}/api", headers=headers)


async def _session_awaiting_approval(world: World, owner: str = "local") -> Conversation:
    """Create session s, whose write awaits approval."""
    story = world.story("s")
    await story.commit(c.Say(text="Cancel #W1", workflow="agentflow"), user=owner)
    actions = (ActionSpec(id="1.1", tool="cancel_order", arguments={"order_id": "#W1"}, effect="write"),)
    await story.commit(c.PlanTurn(sub_goal="Cancel it", actions=actions))
    return story


async def _escalated_session(world: World) -> Conversation:
    story = world.story("s")
    await story.commit(c.Say(text="Cancel #W1", workflow="agentflow"))
    actions = (ActionSpec(id="1.1", tool="find_order", arguments={"order_id": "#W1"}),)
    await story.commit(c.PlanTurn(sub_goal="Find it", actions=actions))
    await story.commit(c.Start())
    await story.commit(finish_action(action_id="1.1", ok=False, error="Error: order not found"))
    await story.commit(c.VerifyTurn(status="failure", next_action="escalate", reasoning="Nobody can find it."))
    return story


async def test_tools_are_listed(world: World) -> None:
    executor = Executor(world)
    async with serving(world.app) as address, _rest(address) as http:
        page = (await http.get("/tools", params={"q": "cancel", "limit": 7})).json()
    assert [tool["name"] for tool in page["tools"]] == ["cancel_order", "find_order"]
    assert executor.listed == [ListTools(query="cancel", limit=7)]


@pytest.mark.parametrize("answer", [None, b"what?"])
async def test_a_missing_or_incompatible_executor_is_reported(world: World, answer: bytes | None) -> None:
    world.bus.answers = {TOOLS_LIST: lambda _: answer} if answer else {}
    async with serving(world.app) as address, _rest(address) as http:
        refused = await http.get("/tools")
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert "executor" in refused.json()["message"].lower()


async def test_a_finished_action_has_no_preview(world: World) -> None:
    Executor(world)
    story = await _session_awaiting_approval(world)
    await story.commit(c.Reject(action_id="1.1"))
    async with serving(world.app) as address, _rest(address) as http:
        refused = await http.get("/sessions/s/actions/1.1/preview")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_now")


async def test_previews_require_permission_to_read_the_session() -> None:
    world = World(**KEYS)
    executor = Executor(world)
    story = await _session_awaiting_approval(world, "alice")
    call = {"tool": "cancel_order", "arguments": {"order_id": "#W2"}}
    async with serving(world.app) as address, _rest(address, "a") as alice, _rest(address, "b") as bob:
        assert (await alice.post("/sessions/s/preview", json=call)).json()["known"] is True
        assert (await bob.get("/sessions/s/actions/1.1/preview")).status_code == 404
        assert (await bob.post("/sessions/s/preview", json=call)).status_code == 404
        await story.commit(c.Share(user="bob", role="viewer"), user="alice")
        assert (await bob.get("/sessions/s/actions/1.1/preview")).status_code == 200
        assert (await bob.post("/sessions/s/preview", json=call)).status_code == 403
        assert (await alice.post("/sessions/s/preview", json=call | {"effect": "read"})).status_code == 422
    assert [request.arguments["order_id"] for request in executor.previewed] == ["#W2", "#W1"]


async def test_a_result_in_the_object_store_can_be_fetched() -> None:
    world = World(**KEYS)
    await _session_awaiting_approval(world, "alice")
    world.bus.objects = {"s/1/1.1/1": b"x" * 100_000}
    async with serving(world.app) as address, _rest(address, "a") as alice, _rest(address, "b") as bob:
        download = await alice.get("/sessions/s/artefacts/1/1.1")
        assert (download.status_code, len(download.content)) == (200, 100_000)
        assert download.headers["content-disposition"] == 'attachment; filename="s-1-1.1.txt"'
        assert download.headers["content-type"].startswith("text/plain")
        assert (await alice.get("/sessions/s/artefacts/1/1.2")).status_code == 404
        assert (await bob.get("/sessions/s/artefacts/1/1.1")).status_code == 404


async def test_a_user_takes_over_and_hands_back(world: World) -> None:
    Executor(world)
    story = await _escalated_session(world)
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        assert (await her.until("snapshot"))["state"] == "escalated"
        bad = {"tool": "cancel_order", "arguments": {"order": "#W1"}}
        await her.send("take_over", sub_goal="Cancel it", actions=[bad])
        assert "order_id" in (await her.error("invalid"))["message"]
        good = {"tool": "cancel_order", "arguments": {"order_id": "#W1"}}
        await her.send("take_over", sub_goal="Cancel it", actions=[good])
        planned = await her.event("turn.requested")
        assert (planned["turn"], planned["actor"]) == (2, "user:local")
        (action,) = planned["actions"]
        assert (action["id"], action["effect"], action["approval_reason"]) == ("2.1", "write", None)
        await story.commit(c.Start())
        await story.commit(finish_action(action_id="2.1", ok=True, result="done"))
        await story.commit(c.VerifyTurn(status="success", next_action="continue", reasoning="It worked."))
        assert "hand the session back" in (await her.until("log"))["content"]
        await her.send("hand_back", content="I cancelled it")
        assert (await her.event("message.received"))["text"] == "I cancelled it"
        assert (await story.load()).phase == "planning"


async def test_taking_over_fails_while_no_executor_answers(world: World) -> None:
    await _escalated_session(world)
    async with serving(world.app) as address, _rest(address) as http:
        body = {"type": "take_over", "sub_goal": "Cancel it", "actions": [{"tool": "cancel_order"}]}
        refused = await http.post("/sessions/s/messages", json=body)
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
