"""A user cannot reach another user's sessions: by any route of the gateway, any message of the protocol, MCP, the SDK
or a ticket. Each answer is the one for an unknown session; it reveals nothing and records nothing."""

import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, NamedTuple

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from mcp import Client as Assistant

from cli.gateway import GatewayAddress
from cli.mcp.server import build_server as mcp_server
from parley.client import Parley
from parley.client.errors import ParleyError, RequestRefused
from parley.protocol.flows import FLOWS_LIST
from parley.protocol.server import Delta
from parley.protocol.tools import TOOLS_LIST, ToolPage
from services.gateway.app import build
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.flow_services import Services, answer_flows
from tests.support.frame_generator import TYPES, FrameGenerator
from tests.support.gateway import SECRET, Client, client, gateway_settings, serving
from tests.support.http_client import http_client
from tests.support.stack import running_plan_store

MARK = "ALICES-OWN-WORDS"
ALICE, BOB = {"Authorization": "Bearer ka"}, {"Authorization": "Bearer kb"}
UNKNOWN_ID = "0123456789abcdef"  # no session has this id
# Routes without a session that are the same for all users or concern only the caller.
SHARED = {
    ("POST", "/api/tickets"),
    ("POST", "/api/logout"),
    ("GET", "/api/me"),
    ("GET", "/api/tools"),
    ("GET", "/api/planning/flows"),
    ("GET", "/api/planning/flows/{name}"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
}
LISTS = {
    "/api/execution-plans",
    "/api/templates",
    "/api/sessions",
    "/api/inbox",
    "/api/memories",
    "/api/plans",
    "/api/library",
    "/api/planning/proposals",
}
PAGE = ("/assets", "/", "/index.html", "/s/{session_id}", "/s/{session_id}/")
TESTED_ELSEWHERE = {  # other tests cover these
    ("POST", "/login"),
    ("GET", "/api/usage"),
    ("GET", "/api/dead"),
    ("DELETE", "/api/dead/{stream}/{stream_seq}"),
    ("DELETE", "/api/memories/{memory_id}"),
    ("GET", "/metrics"),
    ("POST", "/api/chat"),
    *((method, "/api/templates/{template_id}") for method in ("GET", "PUT", "DELETE")),
    ("PUT", "/api/templates/{template_id}/schedule"),
    ("POST", "/api/templates/{template_id}/use"),
    ("GET", "/api/templates/from-plan"),
    ("POST", "/api/templates/from-plan"),
    ("GET", "/api/templates/from-session"),
    ("POST", "/api/templates/from-session"),
}
CREATING = {
    ("POST", path)
    for path in (
        "/api/sessions",
        "/api/planning/plan",
        "/api/execution-plans",
        "/api/execution-plans/store",
        "/api/templates",
    )
}
PATHS = {"version": "2", "turn": "1", "action_id": "1.1", "name": "notes.md", "step_id": "s1"}
QUERIES = {path: {"from": "2", "to": "2"} for path in ("/plans/diff", "/diff")}
BODIES: dict[str, Any] = {
    "/preview": {"tool": "text_to_sql.classify_prompt", "arguments": {}},
    "/path/check": {"nodes": ["text_to_sql.classify_prompt"]},
    "/modify": {"feedback": "x"},
    "/approve": {"version": 2},
    "/execute": {},
    "/cancel": {},
    "/steps/{step_id}/skip": {},
}


class TwoUsers(NamedTuple):
    """The gateway, alice's two sessions (a path in review, and a saved answer), and the HTTP clients of both users."""

    app: FastAPI
    address: str
    bus: Bus
    sessions: tuple[str, str]
    alice: httpx2.AsyncClient
    bob: httpx2.AsyncClient


@asynccontextmanager
async def _http(address: str, headers: dict[str, str]) -> AsyncIterator[httpx2.AsyncClient]:
    async with http_client(base_url=f"http://{address}", headers=headers) as http:
        yield http


@pytest.fixture
async def users(settings: Settings, bus: Bus) -> AsyncIterator[TwoUsers]:
    chosen: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
    own_settings = gateway_settings(**chosen, nats_url=settings.nats_url, parley_home=settings.parley_home)
    gateway_bus = Bus(own_settings, "gateway")
    await bus.answer(FLOWS_LIST, answer_flows, queue="executor")
    app = build(own_settings, gateway_bus, PlanStoreClient(gateway_bus), gateway_bus.log)
    async with (
        running_plan_store(settings),
        serving(app) as address,
        Services(bus, bus.log),
        _http(address, ALICE) as alice,
        _http(address, BOB) as bob,
    ):
        yield TwoUsers(app, address, bus, await _create_sessions(alice, bus), alice, bob)


async def _create_sessions(alice: httpx2.AsyncClient, bus: Bus) -> tuple[str, str]:
    request = {"request": f"How many orders are pending? {MARK}", "id": "first"}
    planned = (await alice.post("/api/planning/plan", json=request)).json()["session_id"]
    chat = {"messages": [{"role": "user", "content": f"How many orders are pending? {MARK}"}], "id": "second"}
    answered = (await alice.post("/api/chat", json=chat)).json()
    saved = await alice.post(f"/api/sessions/{answered['session_id']}/messages", json={"type": "save_to_library"})
    assert saved.status_code == 200, saved.text
    await bus.keep(f"{answered['session_id']}/1/1.1/1", MARK.encode())
    return planned, answered["session_id"]


async def _recorded(bus: Bus) -> int:
    """The number of messages in the log."""
    info = await bus.client.jetstream().stream_info("SESSIONS")
    return int(info.state.messages)


def _routes(app: FastAPI) -> set[tuple[str, str]]:
    """Every (method, path) that the application serves."""
    return {
        (method, route.path)
        for route in iter_route_contexts(app.routes)
        for method in (route.methods or {"WS"}) - {"HEAD"}
        if route.path and not route.path.endswith((".json", "/api/{path:path}")) and route.path not in PAGE
    }


def _fill(path: str, session_id: str) -> str:
    names = PATHS | {"session_id": session_id, "task_id": session_id}
    return re.sub(r"\{(\w+)[^}]*\}", lambda match: names[match[1]], path)


def _session_routes(app: FastAPI) -> list[tuple[str, str]]:
    named = re.compile(r"\{(session|task)_id\}")
    return sorted(route for route in _routes(app) if named.search(route[1]) and "/messages" not in route[1])


async def _request(http: httpx2.AsyncClient, method: str, path: str, session_id: str) -> tuple[int, str]:
    """Status and body, with the session's id replaced by `ID`."""
    tail = re.split(r"\{(?:session|task)_id\}", path)[-1]
    body = BODIES.get(tail) if method == "POST" else None
    answer = await http.request(method, _fill(path, session_id), params=QUERIES.get(tail), json=body)
    return answer.status_code, answer.text.replace(session_id, "ID")


async def test_every_route_is_covered(users: TwoUsers) -> None:
    known = SHARED | {("GET", path) for path in LISTS} | TESTED_ELSEWHERE | CREATING | set(_session_routes(users.app))
    assert _routes(users.app) - known == {("POST", "/api/sessions/{session_id}/messages"), ("WS", "/ws")}
    assert len(_session_routes(users.app)) >= 11


async def test_no_route_reaches_another_users_session(users: TwoUsers) -> None:
    before, attempts = await _recorded(users.bus), 0
    for session_id in users.sessions:
        for method, path in _session_routes(users.app):
            refused = await _request(users.bob, method, path, session_id)
            assert refused[0] == 404, (method, path, refused)
            assert refused == await _request(users.bob, method, path, UNKNOWN_ID), (method, path)
            assert MARK not in refused[1]
            attempts += 1
    for form in ("md", "json", "py"):
        for session_id in users.sessions:
            answer = await users.bob.get(f"/api/sessions/{session_id}/export", params={"format": form})
            assert answer.status_code == 404
    assert attempts >= 22
    assert await _recorded(users.bus) == before
    for path in ("", "/journal", "/plans", "/export", "/files", "/artefacts/1/1.1"):
        answer = await users.alice.get(f"/api/sessions/{users.sessions[1]}{path}")
        assert answer.status_code == 200, (path, answer.text)


async def test_lists_show_only_the_users_own_items(users: TwoUsers) -> None:
    for path in sorted(LISTS):
        for words in ({}, {"q": MARK}, {"q": "orders"}, {"limit": 1000}, {"user": "alice"}, {"owner": "alice"}):
            answer = await users.bob.get(path, params=words)
            assert answer.status_code in (200, 422), (path, words, answer.text)
            assert MARK not in answer.text
            assert not [name for name in users.sessions if name in answer.text], (path, words)
    assert MARK in (await users.alice.get("/api/library")).text
    assert users.sessions[0] in (await users.alice.get("/api/sessions")).text
    for session_id in users.sessions:
        answer = await users.bob.get("/api/usage", params={"session_id": session_id})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await users.bob.get("/api/usage")).json()["rows"] == []
    assert (await users.bob.get("/api/dead")).status_code == 403
    assert (await users.bob.delete("/api/dead/SESSIONS/1")).status_code == 403
    assert (await users.bob.get("/metrics")).status_code == 403


async def test_another_users_templates_are_inaccessible(users: TwoUsers) -> None:
    async def none(_: str, __: bytes) -> bytes:
        return ToolPage(tools=(), total=0).model_dump_json().encode()

    await users.bus.answer(TOOLS_LIST, none, queue="executor")
    step = {"id": "s1", "text": MARK, "tool": "look", "arguments": {}}
    template = {"name": MARK, "goal": MARK, "steps": [step]}
    created = (await users.alice.post("/api/templates", json={"template": template, "id": "mine"})).json()
    attempts: tuple[tuple[str, str, Any], ...] = (
        ("GET", "", None),
        ("GET", "?format=yaml", None),
        ("PUT", "", {"version": 1, "template": template}),
        ("PUT", "/schedule", {"version": 1}),
        ("POST", "/use", {"values": {}}),
        ("POST", "/use", {"request": "x"}),
        ("DELETE", "", None),
    )
    for method, tail, body in attempts:
        answers = [
            await users.bob.request(method, f"/api/templates/{template_id}{tail}", json=body)
            for template_id in (created["id"], UNKNOWN_ID)
        ]
        assert [answer.status_code for answer in answers] == [404, 404], (method, tail, answers[0].text)
        assert answers[0].text == answers[1].text
    for session_id in (*users.sessions, UNKNOWN_ID):
        answer = await users.bob.post("/api/templates/from-session", json={"session_id": session_id})
        assert answer.status_code == 404
        session = {"session_id": session_id}
        assert (await users.bob.get("/api/templates/from-session", params=session)).status_code == 404
        assert (await users.bob.post("/api/templates/from-plan", json={"task_id": session_id})).status_code == 404
        assert (await users.bob.get("/api/templates/from-plan", params={"task_id": session_id})).status_code == 404
    bobs_template = (await users.bob.post("/api/templates", json={"template": template, "id": "mine"})).json()
    assert bobs_template["id"] != created["id"]
    assert (await users.alice.get(f"/api/templates/{created['id']}")).json()["version"] == 1


async def test_another_users_memories_cannot_be_deleted(users: TwoUsers) -> None:
    memories = (await users.alice.get("/api/memories")).json()["items"]
    assert [memory["session_id"] for memory in memories] == [users.sessions[1]]
    answers = [await users.bob.delete(f"/api/memories/{memory}") for memory in (memories[0]["id"], f"{UNKNOWN_ID}.1")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(memories[0]["id"], "ID") == answers[1].text.replace(f"{UNKNOWN_ID}.1", "ID")
    assert (await users.alice.get("/api/memories")).json()["items"] == memories
    assert (await users.alice.delete(f"/api/memories/{memories[0]['id']}")).status_code == 200
    assert (await users.alice.get("/api/memories")).json()["total"] == 0


async def test_the_same_message_id_starts_the_users_own_session(users: TwoUsers) -> None:
    """A message id makes it safe to send twice, but it neither reveals nor reaches another user's session."""
    for path, body in (
        ("/api/sessions", {"request": "Mine", "id": "second"}),
        ("/api/planning/plan", {"request": "How many orders are pending?", "id": "first"}),
    ):
        answer = await users.bob.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
        assert answer.json()["session_id"] not in users.sessions
        assert MARK not in answer.text


async def test_a_user_cannot_guess_the_session_id_of_another_users_message(users: TwoUsers) -> None:
    words = b"alice\nforeseen"
    for guess in (hashlib.sha256(words), hmac.new(b"", words, "sha256"), hmac.new(SECRET.encode(), words, "sha256")):
        taken = f"/api/sessions/{guess.hexdigest()[:16]}/messages"
        assert (await users.bob.post(taken, json={"type": "user_message", "content": "Mine"})).status_code == 200
    answer = await users.alice.post("/api/sessions", json={"request": "Hers", "id": "foreseen"})
    assert answer.status_code == 201, answer.text
    again = await users.alice.post("/api/sessions", json={"request": "Hers", "id": "foreseen"})
    assert again.json()["session_id"] == answer.json()["session_id"]


async def test_a_chat_cannot_continue_another_users_session(users: TwoUsers) -> None:
    before = await _recorded(users.bus)
    for stream in (False, True):
        body = {"messages": [{"role": "user", "content": "And in Texas?"}], "stream": stream}
        answers = []
        for session_id in (*users.sessions, UNKNOWN_ID):
            answer = await users.bob.post("/api/chat", json=body | {"session_id": session_id})
            answers.append((answer.status_code, answer.text.replace(session_id, "ID")))
        assert answers[0][0] == 404
        assert len(set(answers)) == 1
    assert await _recorded(users.bus) == before


async def test_no_message_reaches_another_users_session(users: TwoUsers) -> None:
    """Send every message type of the protocol by REST and over a socket."""
    frames, before, number = FrameGenerator(3), await _recorded(users.bus), count()
    attempts: set[tuple[str, str, str]] = set()
    for kind in TYPES:
        for session_id in users.sessions:
            message = frames.valid(kind) | {"id": f"m{next(number)}"}
            answer = await users.bob.post(f"/api/sessions/{session_id}/messages", json=message)
            if kind not in ("resume", "close"):  # these two are only for sockets
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), message
            assert MARK not in answer.text
            attempts.add(("REST", kind, session_id))
            async with client(users.address, additional_headers=BOB) as bob_socket:
                await _send_refused(bob_socket, message | {"session_id": session_id}, kind)
                assert MARK not in json.dumps(bob_socket.received)
                attempts.add(("socket", kind, session_id))
    assert len(attempts) == 4 * len(TYPES) >= 100
    assert await _recorded(users.bus) == before


async def _send_refused(bob_socket: Client, message: dict[str, Any], kind: str) -> None:
    """Send the message and check that the error is the one for an unknown session.

    A `user_message` is not compared: it would start a session with the unknown id.
    """
    await bob_socket.connection.send(json.dumps(message))
    if kind == "close":
        assert await bob_socket.closed() == 1000
        return
    refused = await bob_socket.error("not_found")
    if kind != "user_message":
        await bob_socket.connection.send(json.dumps(message | {"session_id": UNKNOWN_ID}))
        other = await bob_socket.error("not_found")
        assert refused | {"session_id": ""} == other | {
            "session_id": "",
            "message": other["message"].replace(UNKNOWN_ID, message["session_id"]),
            "content": other["content"].replace(UNKNOWN_ID, message["session_id"]),
        }


async def test_no_message_of_another_users_session_is_received(users: TwoUsers) -> None:
    """Bob's socket gets no events or drafts, not even of a session whose id he tried before alice started it."""
    to_come = "alices-session-to-come"
    async with (
        client(users.address, additional_headers=BOB) as bob_socket,
        client(users.address, additional_headers=ALICE) as alice_socket,
    ):
        for session_id in users.sessions:
            for kind in ("resume", "stop", "fork"):
                await bob_socket.send(kind, session_id=session_id)
                await bob_socket.error("not_found")
        await bob_socket.send("user_message", session_id=to_come, content="I was here first", workflow="gardening")
        await bob_socket.error("not_available")
        await alice_socket.send("user_message", session_id=to_come, content=MARK)
        await alice_socket.event("message.received")
        draft = Delta(session_id=to_come, version=1, draft_id="d", kind="plan", offset=0, text=MARK)
        for session_id in (*users.sessions, to_come):
            await users.bus.publish(
                f"delta.{session_id}.d", draft.model_copy(update={"session_id": session_id}).model_dump_json().encode()
            )
            await alice_socket.send("rename", session_id=session_id, title=MARK)
            await alice_socket.event("session.renamed")
        received_before = len(bob_socket.received)
        await bob_socket.send("stop", session_id=UNKNOWN_ID)
        await bob_socket.error("not_found")  # messages arrive in order: nothing earlier is still to come
        assert len(bob_socket.received) == received_before + 1
        assert MARK not in json.dumps(bob_socket.received)
        assert to_come not in json.dumps([message for message in bob_socket.received if message["type"] != "error"])


async def test_no_mcp_tool_reaches_another_users_session(users: TwoUsers) -> None:
    """Bob's assistant calls every tool of Parley's MCP server that takes a session."""
    before = await _recorded(users.bus)
    values = {"version": 2, "hash": "0" * 64, "text": "x", "seconds": 0, "take": True}
    async with Assistant(mcp_server(lambda: GatewayAddress(f"ws://{users.address}/ws", "kb"))) as assistant:
        tools = (await assistant.list_tools()).tools
        named = [tool for tool in tools if "session_id" in tool.input_schema["properties"]]
        assert len(named) == 7
        for tool in named:
            for session_id in users.sessions:
                arguments = {name: values[name] for name in tool.input_schema["required"] if name in values}
                result = await assistant.call_tool(tool.name, arguments | {"session_id": session_id})
                assert result.is_error, tool.name
                assert "not_found" in str(result.content)
        listed = await assistant.call_tool("list_sessions", {})
        assert listed.structured_content == {"sessions": [], "total": 0}
    assert await _recorded(users.bus) == before


async def test_neither_sdk_nor_ticket_reaches_another_users_session(users: TwoUsers) -> None:
    before = await _recorded(users.bus)
    async with Parley(f"http://{users.address}", token="kb", timeout=0) as parley:
        assert (await parley.sessions(MARK)).total == 0
        for session_id in users.sessions:
            session = parley.session(session_id)
            for call in (
                session.snapshot,
                session.journal,
                session.wait,
                session.approve,
                session.reject,
                session.stop,
            ):
                with pytest.raises(RequestRefused, match="no session"):
                    await call()
            with pytest.raises(ParleyError, match="no session"):
                await anext(session.events())
    ticket = (await users.bob.post("/api/tickets")).json()["ticket"]
    async with client(users.address, f"/ws?ticket={ticket}") as bob_socket:
        for session_id in users.sessions:
            await bob_socket.send("resume", session_id=session_id)
            await bob_socket.error("not_found")
    assert await _recorded(users.bus) == before


async def test_deleted_and_unknown_sessions_are_indistinguishable(users: TwoUsers) -> None:
    assert (await users.alice.delete(f"/api/sessions/{users.sessions[1]}")).status_code == 200
    for method, path in _session_routes(users.app):
        deleted = await _request(users.bob, method, path, users.sessions[1])
        assert deleted == await _request(users.bob, method, path, UNKNOWN_ID)
