"""Paths that a user edits before and while they run, and judgements of their answers."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx2

from parley.events.values import SessionSettings
from parley.protocol.flows import FLOWS_LIST
from shared.domain.kernel import commands as c
from tests.support.flow_services import SQL, Services, flows_for
from tests.support.gateway import Client, World, client, serving
from tests.support.http_client import http_client

REQUEST = "How many orders are pending?"


def _world() -> World:
    world = World()
    world.bus.answers[FLOWS_LIST] = flows_for
    return world


def _tools(*nodes: str) -> list[str]:
    return [f"text_to_sql.{node}" for node in nodes]


async def _begin(her: Client, confirm: str) -> None:
    settings = SessionSettings.model_validate({"confirm": confirm}).model_dump()
    await her.send("user_message", content=REQUEST, workflow="flow", settings=settings)


async def _snapshot(her: Client) -> dict[str, Any]:
    """The snapshot after a resume without past events."""
    await her.send("resume", session_id=her.session_id, after=max(her.versions))
    return await her.until("snapshot")


async def test_a_path_in_review_is_edited_by_node_names() -> None:
    world = _world()
    async with serving(world.app) as address, Services(world.bus, world.log), client(address) as her:
        await _begin(her, "path")
        review = await her.until("text_plan_review")
        assert (review["kind"], review["path"]["fallback"]) == ("path", False)
        bad = ["classify_prompt", "generate_sql", "format_final_response", "Think hard"]
        await her.send("edit", version=review["version"], steps=bad)
        assert "Step 4 names no node: “Think hard”" in (await her.error("invalid"))["message"]
        await her.send("edit", version=review["version"], steps=bad[:3])
        refused = (await her.error("invalid"))["message"]
        assert "classify_prompt is not followed by generate_sql" in refused
        assert "generate_sql needs tables" in refused
        good = ["classify_prompt", "text_to_sql.get_relevant_tables", "generate_sql: write it", "format_final_response"]
        await her.send("edit", version=review["version"], steps=good)
        edited = await her.until("text_plan_review")
        tools = _tools("classify_prompt", "get_relevant_tables", "generate_sql", "format_final_response")
        assert [step["tool"] for step in edited["steps"]] == edited["path"]["nodes"] == tools
        assert edited["steps"][2]["text"] == "About generate_sql."
        without = edited["plan"].replace("\n2. About get_relevant_tables. — `text_to_sql.get_relevant_tables()`", "")
        await her.send("edit", version=edited["version"], content=without)
        assert "generate_sql needs tables" in (await her.error("invalid"))["message"]
        await her.send("approval", approved=True, version=edited["version"], hash=edited["hash"])
        await her.until("answer")
        path = (await _snapshot(her))["path"]
        assert (path["planned_execution_path"], path["walked"], path["remaining"]) == (tools, tools, [])


async def test_the_rest_of_a_running_path_is_changed() -> None:
    world = _world()
    async with serving(world.app) as address, Services(world.bus, world.log), client(address) as her:
        await _begin(her, "nodes")
        question = await her.until("question", about="action")
        assert question["form"]["kind"] == "tables"
        before = (await _snapshot(her))["path"]
        assert (before["current_path_index"], before["remaining"][0]) == (2, "text_to_sql.has_user_approved")
        assert "edit_path" in (await _snapshot(her))["can"]
        rest = _tools("generate_sql", "execute_sql", "format_final_response")
        await her.send("edit_path", after="1.1", nodes=rest)
        await her.error("stale_version")
        await her.send("edit_path", after="1.2", nodes=rest)
        changed = await her.event("turn.changed")
        assert [action["tool"] for action in changed["actions"]] == rest
        waiting = await her.until("approval_request")
        assert waiting["actions"][0]["arguments"] == {"sql": SQL}
        edited_sql = SQL.replace("pending", "delivered")
        last = (await _snapshot(her))["turn"]["actions"][-3]["action_id"]
        await her.send("edit_path", after=last, nodes=rest[1:], given={"sql": edited_sql})
        changed_request = await her.until("approval_request")
        assert changed_request["actions"][0]["arguments"] == {"sql": edited_sql}
        action = changed_request["actions"][0]
        await her.send("approval", approved=True, action_id=action["action_id"], hash=action["hash"])
        await her.until("answer")
        path = (await _snapshot(her))["path"]
        assert path["walked"] == _tools("classify_prompt", "get_relevant_tables", *[t.split(".")[1] for t in rest])
        assert path["current_path_index"] == 4
        assert len(path["planned_execution_path"]) == 6


def _path_checker(address: str, her: Client) -> Callable[..., Awaitable[httpx2.Response]]:
    """A function that posts nodes to the path check, of the client's session unless another one is named."""

    async def check(nodes: Sequence[str], *, session_id: str = "", **more: Any) -> httpx2.Response:
        async with http_client(base_url=f"http://{address}/api") as http:
            path = f"/sessions/{session_id or her.session_id}/path/check"
            return await http.post(path, json={"nodes": nodes, **more})

    return check


async def test_the_rest_of_a_running_path_is_checked_from_its_position() -> None:
    world = _world()
    async with serving(world.app) as address, Services(world.bus, world.log), client(address) as her:
        check = _path_checker(address, her)
        await _begin(her, "nodes")
        await her.until("question", about="action")
        version = (await world.story(her.session_id).load()).version
        rest = _tools("generate_sql", "execute_sql", "format_final_response")
        assert (await check(rest)).json() == {"problems": [], "lacking": [], "rest": []}
        whole_rest = (await check(())).json()["rest"]
        assert whole_rest[0] == "text_to_sql.has_user_approved"  # the node after the last one that ran
        short = (await check(rest[1:])).json()
        assert [sentence.split(";")[0] for sentence in short["problems"]] == [
            "get relevant tables is not followed by execute sql",
            "execute sql needs sql, which nothing before it makes.",
        ]
        assert short["lacking"] == ["sql"]
        by_hand = await check(rest[1:], given={"sql": SQL})
        assert by_hand.json() == {"problems": [], "lacking": ["sql"], "rest": []}
        assert "Do you mean sql?" in (await check(rest, given={"sqll": SQL})).json()["problems"][0]
        assert (await world.story(her.session_id).load()).version == version


async def test_an_impossible_rest_of_a_path_is_refused() -> None:
    world = _world()
    impossible: tuple[tuple[list[str], dict[str, Any]], ...] = (
        ([], {}),
        (_tools("generate"), {}),
        (["sql.generate_sql"], {}),
        (_tools("format_final_response"), {}),
        (_tools("generate_sql"), {}),
        (_tools("generate_sql", "execute_sql", "format_final_response"), {"sqll": "x"}),
        (["complaint_triage.write_reply"], {}),
        ([*_tools("generate_sql", "format_final_response"), "complaint_triage.nothing"], {}),
        (_tools("generate_sql", "format_final_response") * 2, {}),
    )
    async with serving(world.app) as address, Services(world.bus, world.log), client(address) as her:
        await _begin(her, "nodes")
        await her.until("question", about="action")
        version = (await world.story(her.session_id).load()).version
        for nodes, values in impossible:
            await her.send("edit_path", after="1.2", nodes=nodes, given=values)
            await her.error("invalid")
        assert (await world.story(her.session_id).load()).version == version


async def test_a_path_cannot_be_changed_without_an_executor() -> None:
    world = _world()
    async with serving(world.app) as address, Services(world.bus, world.log), client(address) as her:
        await _begin(her, "nodes")
        await her.until("question", about="action")
        del world.bus.answers[FLOWS_LIST]
        await her.send("edit_path", after="1.2", nodes=_tools("generate_sql", "format_final_response"))
        await her.error("unavailable")
        await world.story(her.session_id).commit(c.Stop())
        await her.until("stopped")
        await her.send("edit_path", after="1.2", nodes=_tools("generate_sql", "format_final_response"))
        assert "No path is being walked now." in (await her.error("not_now"))["message"]
