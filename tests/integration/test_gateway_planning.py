"""Flows over REST: lists, planned paths, chats with and without streaming, and refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from parley.protocol.flows import FLOWS_LIST
from services.gateway.rest.flow_models import MIN_WAIT
from shared.domain.kernel import commands as c
from shared.domain.transcript.messages import chat_history
from tests.support.flow_services import SQL, Services, flows_for
from tests.support.gateway import World, client, serving
from tests.support.http_client import http_client

ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "How many orders are pending?"}]}
PATH = [
    f"text_to_sql.{node}"
    for node in (
        "classify_prompt",
        "get_relevant_tables",
        "has_user_approved",
        "generate_sql",
        "execute_sql",
        "format_final_response",
    )
]
KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": "s" * 40}


@asynccontextmanager
async def _connected(world: World, key: str = "") -> AsyncIterator[tuple[httpx2.AsyncClient, Services, str]]:
    """An HTTP client of a gateway, its services (which plan by fixed rules, without a model) and its address."""
    world.bus.answers[FLOWS_LIST] = flows_for
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        serving(world.app) as address,
        Services(world.bus, world.log) as services,
        http_client(base_url=f"http://{address}/api", headers=headers) as http,
    ):
        yield http, services, address


async def _chat(http: httpx2.AsyncClient, text: str, **more: Any) -> dict[str, Any]:
    got = await http.post("/chat", json={"messages": [{"role": "user", "content": text}], **more})
    assert got.status_code == 200, got.text
    reply: dict[str, Any] = got.json()
    return reply


async def _refused(http: httpx2.AsyncClient, status: int, path: str, body: Any) -> dict[str, Any]:
    """The problem in the response, whose status must be this one."""
    got = await http.post(path, json=body)
    assert got.status_code == status, got.text
    problem: dict[str, Any] = got.json()
    assert {"code", "message", "hint"} <= problem.keys()
    return problem


def _events(text: str) -> list[tuple[str, Any]]:
    """The name ("" for none) and data of each event of a stream."""
    events = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((lines.get("event", ""), json.loads(lines["data"])))
    return events


async def test_flows_are_listed() -> None:
    async with _connected(World()) as (http, _, _):
        listed = (await http.get("/planning/flows")).json()
        assert [flow["name"] for flow in listed["flows"]] == ["text_to_sql", "complaint_triage"]
        assert listed["troubles"] == ["broken.yaml: the node “x” cannot be reached."]
        single = (await http.get("/planning/flows/text_to_sql")).json()
        assert single["full_path"][0] == "classify_prompt"
        assert single["nodes"][0]["possible_next_nodes"] == ["get_relevant_tables", "format_final_response"]
        missing = await http.get("/planning/flows/text_to_sqll")
        assert missing.status_code == 404
        assert "text_to_sql, complaint_triage" in missing.json()["hint"]


async def test_a_planned_path_awaits_approval() -> None:
    world = World()
    async with _connected(world) as (http, _, _):
        body = {
            "request": "How many orders are pending?",
            "temperature": 0,
            "max_retries": 5,
            "messages": ASK["messages"],
        }
        plan = (await http.post("/planning/plan", json=body)).json()
        assert plan["path"] == plan["planned_execution_path"] == PATH
        assert [path["flow"] for path in plan["paths"]] == ["text_to_sql"]
        assert plan["paths"][0]["nodes"] == [tool.partition(".")[2] for tool in PATH]
        assert (plan["state"], plan["reasoning"], plan["fallback"]) == (
            "text_plan_approval",
            "The ordinary way.",
            False,
        )
        session = await world.story(plan["session_id"]).load()
        assert (session.settings.planning.temperature, session.settings.planning.max_retries) == (0, 5)
        assert session.words.knowledge[0].text == "user: How many orders are pending?"
        session_path = f"/sessions/{plan['session_id']}"
        approval = {"type": "approval", "approved": True, "version": plan["version"], "hash": plan["hash"]}
        assert (await http.post(f"{session_path}/messages", json=approval)).status_code == 200
        done = await _until_answered(http, session_path)
        assert done["path"]["walked"] == PATH


async def _until_answered(http: httpx2.AsyncClient, session_path: str) -> dict[str, Any]:
    """Approve everything until there is an answer: the tables as proposed, the query by its hash."""
    session_id = session_path.rpartition("/")[2]
    address = str(http.base_url.netloc, "ascii")
    async with client(address) as her:
        await her.send("resume", session_id=session_id)
        while (message := await her.next())["type"] != "continue":
            if asked := message if message["type"] == "question" else message.get("question"):
                await her.send("answer", content="yes", question_id=asked["question_id"])
            if waiting := message if message["type"] == "approval_request" else message.get("approval_request"):
                action = waiting["actions"][0]
                await her.send("approval", approved=True, action_id=action["action_id"], hash=action["hash"])
    snapshot: dict[str, Any] = (await http.get(session_path)).json()
    return snapshot


async def test_a_chat_is_answered_in_a_session_that_can_be_opened() -> None:
    async with _connected(World()) as (http, _, address):
        reply = await _chat(http, "How many orders are pending?")
        assert (reply["answer"], reply["state"]) == ("163 orders are pending.", "completed")
        assert (reply["sql"], reply["result"]["rows"]) == (SQL, [[163]])
        assert reply["metadata"] == {"planned_execution_path": PATH, "current_path_index": len(PATH) - 1}
        assert reply["path"] == reply["walked"] == PATH
        assert (reply["fallback"], reply["why"]) == (False, "")
        async with client(address) as her:
            await her.send("resume", session_id=reply["session_id"])
            snapshot = await her.until("snapshot")
            assert snapshot["settings"]["confirm"] == "nothing"
            assert snapshot["path"]["current_path_index"] == len(PATH) - 1


async def test_the_earlier_messages_of_a_chat_are_given_to_the_model() -> None:
    world = World()
    async with _connected(world) as (http, _, _):
        messages = [{"role": "assistant", "content": "416"}, {"role": "user", "content": "Only in Oregon"}]
        got = await http.post("/chat", json={"messages": [*ASK["messages"], *messages]})
        session = await world.story(got.json()["session_id"]).load()
        assert session.words.request == "Only in Oregon"
        assert chat_history(session) == "user: How many orders are pending?\n\nassistant: 416"


async def test_a_chat_continues_its_session_and_keeps_its_settings() -> None:
    world = World()
    async with _connected(world) as (http, _, _):
        first = await _chat(http, "How many orders are pending?", max_retries=7, confirm="nodes")
        assert first["question"]["form"]["tables"][0]["name"] == "orders"
        assert (first["answer"], first["metadata"]["current_path_index"]) == ("", 2)
        same_session = {"session_id": first["session_id"]}
        second = await _chat(http, '{"tables": ["orders"]}', **same_session)
        assert second["approval"]["actions"][0]["arguments"] == {"sql": SQL}
        assert (second["sql"], second["result"]) == (SQL, None)
        await world.story(first["session_id"]).commit(c.Stop())
        third = await _chat(http, "Only in Texas", flow="complaint_triage", **same_session)
        assert (third["answer"], third["path"]) == ("We are sorry.", ["complaint_triage.write_reply"])
        session = await world.story(first["session_id"]).load()
        assert (session.settings.confirm, session.settings.planning.max_retries) == ("nodes", 7)


async def test_a_chat_returns_a_question_or_a_failure() -> None:
    async with _connected(World()) as (http, _, _):
        asked = await _chat(http, "which one?")
        assert asked["question"]["options"] == ["text_to_sql", "complaint_triage"]
        assert (await _chat(http, "text_to_sql", session_id=asked["session_id"]))["answer"]
        failed = await _chat(http, "fail")
        assert (failed["state"], failed["failure"]["reason"]) == ("failed", "The model does not answer.")
        plan = (await http.post("/planning/plan", json={"request": "which one?"})).json()
        assert (plan["path"], plan["question"]["content"]) == ([], "Which flow should this go through?")


async def test_a_stream_sends_messages_and_ends_with_the_result() -> None:
    async with _connected(World()) as (http, _, _):
        got = await http.post("/chat", json=ASK | {"stream": True})
        assert got.headers["content-type"].startswith("text/event-stream")
        events = _events(got.text)
        name, result = events[-1]
        assert (name, result["answer"]) == ("result", "163 orders are pending.")
        messages = [data for name, data in events[:-1] if name == ""]
        versions = [message["version"] for message in messages if message["type"] == "event"]
        assert versions == list(range(1, result["version"] + 1))
        assert "snapshot" not in {message["type"] for message in messages}
        assert {message["session_id"] for message in messages} == {result["session_id"]}


async def test_a_session_continues_when_the_client_leaves_its_stream() -> None:
    world = World()
    async with _connected(world) as (http, services, address):
        slow = {"messages": [{"role": "user", "content": "slow: how many?"}], "stream": True}
        async with http.stream("POST", "/chat", json=slow) as got:
            line = await anext(got.aiter_lines())
            session_id = json.loads(line.removeprefix("data: "))["session_id"]
        async with client(address) as her:
            await her.send("resume", session_id=session_id)
            services.go.set()
            await her.until("answer")
        assert world.app.state.gateway.quotas.waiting.in_use == 0


async def test_a_timeout_names_the_session_and_the_session_continues() -> None:
    world = World()
    async with _connected(world) as (http, services, address):
        slow = {"messages": [{"role": "user", "content": "slow: how many?"}], "timeout": MIN_WAIT}
        late, streamed, unplanned = await asyncio.gather(
            _refused(http, 504, "/chat", slow | {"id": "one"}),
            http.post("/chat", json=slow | {"stream": True}),
            _refused(http, 504, "/planning/plan", {"request": "slow", "timeout": MIN_WAIT}),
        )
        assert late["code"] == unplanned["code"] == "timed_out"
        name, problem = _events(streamed.text)[-1]
        assert (name, problem["code"]) == ("error", "timed_out")
        assert len({late["session_id"], unplanned["session_id"], problem["session_id"]}) == 3
        busy = await _refused(http, 409, "/chat", ASK | {"session_id": late["session_id"]})
        assert "user_message" in busy["hint"]
        services.go.set()
        again = (await http.post("/chat", json=slow | {"id": "one"})).json()  # the same id: no second session
        assert (again["session_id"], again["answer"]) == (late["session_id"], "163 orders are pending.")
        assert (await http.post("/chat", json=slow | {"id": "one"})).json() == again
        async with client(address) as her:
            await her.send("resume", session_id=problem["session_id"])
            if (await her.until("snapshot"))["answer"] == "":
                await her.until("answer")


INVALID_CHATS: list[tuple[Any, int, str]] = [
    ({"messages": []}, 422, "messages"),
    ({"messages": [{"role": "robot", "content": "x"}]}, 422, "role"),
    ({"messages": [{"role": "user", "content": ""}]}, 422, "content"),
    ({"messages": [{"role": "user", "content": "   "}]}, 422, "empty"),
    ({"messages": [{"role": "user", "content": "a\0b"}]}, 422, "NUL"),
    ({"messages": [{"role": "user", "content": "x" * 50_001}]}, 422, "content"),
    ({"messages": [{"role": "user", "content": "x" * 50_000}] * 6}, 413, "KiB"),
    ({"messages": [*ASK["messages"], {"role": "assistant", "content": "Yes?"}]}, 422, "not the user's"),
    (ASK | {"flow": "sql"}, 404, "no flow “sql”"),
    (ASK | {"session_id": "nobody"}, 404, "no session nobody"),
    (ASK | {"session_id": "a.b"}, 422, "session_id"),
    (ASK | {"temperature": 3}, 422, "temperature"),
    (ASK | {"timeout": 1}, 422, "timeout"),
    (ASK | {"timeout": 1e9}, 422, "timeout"),
    (ASK | {"confirm": "everything"}, 422, "confirm"),
    (ASK | {"model": "x"}, 422, "model"),
    ([], 422, ""),
]


async def test_invalid_chats_are_refused_and_create_no_session() -> None:
    world = World(max_requests_per_second=0)
    async with _connected(world) as (http, _, _):
        for body, status, words in INVALID_CHATS:
            problem = await _refused(http, status, "/chat", body)
            assert words in problem["message"]
            assert world.app.state.gateway.quotas.waiting.in_use == 0
    assert world.log.messages == []


async def test_other_users_sessions_are_not_accessible() -> None:
    world = World(**KEYS)
    async with _connected(world, "ka") as (http, _, address):
        mine = await _chat(http, "How many orders are pending?")
        async with http_client(base_url=f"http://{address}/api", headers={"Authorization": "Bearer kb"}) as bob:
            await _refused(bob, 404, "/chat", ASK | {"session_id": mine["session_id"]})
        async with http_client(base_url=f"http://{address}/api") as anonymous:
            for path, body in (("/chat", ASK), ("/planning/plan", {"request": "x"})):
                await _refused(anonymous, 401, path, body)
            for path in ("/planning/flows", "/planning/flows/x", "/planning/proposals", "/library"):
                assert (await anonymous.get(path)).status_code == 401


async def test_paused_sessions_and_missing_executors_are_reported() -> None:
    world = World()
    async with _connected(world) as (http, _, _):
        reply = await _chat(http, "How many orders are pending?", confirm="nodes")
        await world.story(reply["session_id"]).commit(c.Pause())
        busy = await _refused(http, 409, "/chat", ASK | {"session_id": reply["session_id"]})
        assert "unpause" in busy["hint"]
        del world.bus.answers[FLOWS_LIST]
        away = await http.get("/planning/flows")
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        await _refused(http, 503, "/chat", ASK | {"flow": "text_to_sql"})
