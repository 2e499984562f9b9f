"""One user against another's sessions: by every route the gateway has and every message the protocol has, over MCP, the
SDK and tickets. All is refused as if there were no such session, nothing is told, and nothing is recorded."""

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

from bench.frame_generator import TYPES, FrameGenerator
from cli.gateway import GatewayAddress
from cli.mcp_server import build_server as mcp_server
from parley.client import Parley
from parley.client.errors import ParleyError, RequestRefused
from parley.protocol.flows import FLOWS_LIST
from parley.protocol.server import Delta
from parley.protocol.tools import TOOLS_LIST, ToolPage
from services.gateway.app import build
from services.gateway.deferred_log import DeferredLog
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.flow_services import Services, answer_flows
from tests.support.gateway import SECRET, Client, client, gateway_settings, serving

MARK = "ALICES-OWN-WORDS"
ALICE, BOB = {"Authorization": "Bearer ka"}, {"Authorization": "Bearer kb"}
NOBODYS = "0123456789abcdef"  # no session has this id
# What bob may ask without naming a session, and what then: his own is his, and what is everybody's is everybody's.
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
PAGE = ("/assets", "/", "/index.html", "/s/{session_id}")  # one file for everybody, without a word of any session
ELSEWHERE = {  # each in a test of its own
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
BEGINS = {
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


class There(NamedTuple):
    """The gateway, alice's sessions (a path in review, and an answer that is kept), and who asks."""

    app: FastAPI
    address: str
    bus: Bus
    sessions: tuple[str, str]
    alice: httpx2.AsyncClient
    bob: httpx2.AsyncClient


@asynccontextmanager
async def _http(address: str, headers: dict[str, str]) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=f"http://{address}", headers=headers, timeout=60) as http:
        yield http


@pytest.fixture
async def there(settings: Settings, bus: Bus) -> AsyncIterator[There]:
    chosen: dict[str, Any] = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
    mine = gateway_settings(**chosen, nats_url=settings.nats_url, parley_home=settings.parley_home)
    plan_store, own = PlanStore(settings), Bus(mine, "gateway")
    await plan_store.start()
    await bus.answer(FLOWS_LIST, answer_flows, queue="executor")
    app = build(mine, own, PlanStoreClient(own), DeferredLog(own))
    try:
        async with (
            serving(app) as address,
            Services(bus, bus.log),
            _http(address, ALICE) as alice,
            _http(address, BOB) as bob,
        ):
            yield There(app, address, bus, await _create_sessions(alice, bus), alice, bob)
    finally:
        await plan_store.stop()


async def _create_sessions(alice: httpx2.AsyncClient, bus: Bus) -> tuple[str, str]:
    asked = {"request": f"How many orders are pending? {MARK}", "id": "first"}
    planned = (await alice.post("/api/planning/plan", json=asked)).json()["session_id"]
    chat = {"messages": [{"role": "user", "content": f"How many orders are pending? {MARK}"}], "id": "second"}
    answered = (await alice.post("/api/chat", json=chat)).json()
    saved = await alice.post(f"/api/sessions/{answered['session_id']}/messages", json={"type": "save_to_library"})
    assert saved.status_code == 200, saved.text
    await bus.keep(f"{answered['session_id']}/1/1.1/1", MARK.encode())
    return planned, answered["session_id"]


async def _recorded(bus: Bus) -> int:
    """How many messages the log has."""
    info = await bus.client.jetstream().stream_info("SESSIONS")
    return int(info.state.messages)


def _routes(app: FastAPI) -> set[tuple[str, str]]:
    """Every method and path of every route, as the application itself knows them."""
    return {
        (method, route.path)
        for route in iter_route_contexts(app.routes)
        for method in (route.methods or {"WS"}) - {"HEAD"}
        if route.path and not route.path.startswith(("/openapi", "/api/{path:path}")) and route.path not in PAGE
    }


def _filled(path: str, session_id: str) -> str:
    names = PATHS | {"session_id": session_id, "task_id": session_id}
    return re.sub(r"\{(\w+)[^}]*\}", lambda match: names[match[1]], path)


def _of_sessions(app: FastAPI) -> list[tuple[str, str]]:
    named = re.compile(r"\{(session|task)_id\}")
    return sorted(route for route in _routes(app) if named.search(route[1]) and "/messages" not in route[1])


async def _ask(http: httpx2.AsyncClient, method: str, path: str, session_id: str) -> tuple[int, str]:
    """Status and body, as they would be for any other id."""
    tail = re.split(r"\{(?:session|task)_id\}", path)[-1]
    body = BODIES.get(tail) if method == "POST" else None
    answer = await http.request(method, _filled(path, session_id), params=QUERIES.get(tail), json=body)
    return answer.status_code, answer.text.replace(session_id, "ID")


async def test_every_route_is_covered(there: There) -> None:
    known = SHARED | {("GET", path) for path in LISTS} | ELSEWHERE | BEGINS | set(_of_sessions(there.app))
    assert _routes(there.app) - known == {("POST", "/api/sessions/{session_id}/messages"), ("WS", "/ws")}
    assert len(_of_sessions(there.app)) >= 11


async def test_no_route_leads_to_anothers_session(there: There) -> None:
    before, tries = await _recorded(there.bus), 0
    for session_id in there.sessions:
        for method, path in _of_sessions(there.app):
            refused = await _ask(there.bob, method, path, session_id)
            assert refused[0] == 404, (method, path, refused)
            assert refused == await _ask(there.bob, method, path, NOBODYS), (method, path)
            assert MARK not in refused[1]
            tries += 1
    for form in ("md", "json", "py"):
        for session_id in there.sessions:
            answer = await there.bob.get(f"/api/sessions/{session_id}/export", params={"format": form})
            assert answer.status_code == 404
    assert tries >= 22
    assert await _recorded(there.bus) == before
    for path in ("", "/journal", "/plans", "/export", "/files", "/artefacts/1/1.1"):  # for her it is all there
        answer = await there.alice.get(f"/api/sessions/{there.sessions[1]}{path}")
        assert answer.status_code == 200, (path, answer.text)


async def test_lists_show_only_the_users_own_items(there: There) -> None:
    for path in sorted(LISTS):
        for words in ({}, {"q": MARK}, {"q": "orders"}, {"limit": 1000}, {"user": "alice"}, {"owner": "alice"}):
            answer = await there.bob.get(path, params=words)
            assert answer.status_code in (200, 422), (path, words, answer.text)
            assert MARK not in answer.text
            assert not [name for name in there.sessions if name in answer.text], (path, words)
    assert MARK in (await there.alice.get("/api/library")).text
    assert there.sessions[0] in (await there.alice.get("/api/sessions")).text
    for session_id in there.sessions:
        answer = await there.bob.get("/api/usage", params={"session_id": session_id})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await there.bob.get("/api/usage")).json()["rows"] == []
    assert (await there.bob.get("/api/dead")).status_code == 403
    assert (await there.bob.delete("/api/dead/SESSIONS/1")).status_code == 403
    assert (await there.bob.get("/metrics")).status_code == 403


async def test_another_users_templates_are_inaccessible(there: There) -> None:
    async def none(_: str, __: bytes) -> bytes:
        return ToolPage(tools=(), total=0).model_dump_json().encode()

    await there.bus.answer(TOOLS_LIST, none, queue="executor")
    step = {"id": "s1", "text": MARK, "tool": "look", "arguments": {}}
    template = {"name": MARK, "goal": MARK, "steps": [step]}
    created = (await there.alice.post("/api/templates", json={"template": template, "id": "mine"})).json()
    tries: tuple[tuple[str, str, Any], ...] = (
        ("GET", "", None),
        ("GET", "?format=yaml", None),
        ("PUT", "", {"version": 1, "template": template}),
        ("PUT", "/schedule", {"version": 1}),
        ("POST", "/use", {"values": {}}),
        ("POST", "/use", {"request": "x"}),
        ("DELETE", "", None),
    )
    for method, tail, body in tries:
        answers = [
            await there.bob.request(method, f"/api/templates/{template_id}{tail}", json=body)
            for template_id in (created["id"], NOBODYS)
        ]
        assert [answer.status_code for answer in answers] == [404, 404], (method, tail, answers[0].text)
        assert answers[0].text == answers[1].text
    for session_id in (*there.sessions, NOBODYS):
        answer = await there.bob.post("/api/templates/from-session", json={"session_id": session_id})
        assert answer.status_code == 404
        session = {"session_id": session_id}
        assert (await there.bob.get("/api/templates/from-session", params=session)).status_code == 404
        assert (await there.bob.post("/api/templates/from-plan", json={"task_id": session_id})).status_code == 404
        assert (await there.bob.get("/api/templates/from-plan", params={"task_id": session_id})).status_code == 404
    his = (await there.bob.post("/api/templates", json={"template": template, "id": "mine"})).json()
    assert his["id"] != created["id"]
    assert (await there.alice.get(f"/api/templates/{created['id']}")).json()["version"] == 1


async def test_another_users_memories_cannot_be_deleted(there: There) -> None:
    mine = (await there.alice.get("/api/memories")).json()["items"]
    assert [memory["session_id"] for memory in mine] == [there.sessions[1]]
    answers = [await there.bob.delete(f"/api/memories/{memory}") for memory in (mine[0]["id"], f"{NOBODYS}.1")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(mine[0]["id"], "ID") == answers[1].text.replace(f"{NOBODYS}.1", "ID")
    assert (await there.alice.get("/api/memories")).json()["items"] == mine
    assert (await there.alice.delete(f"/api/memories/{mine[0]['id']}")).status_code == 200
    assert (await there.alice.get("/api/memories")).json()["total"] == 0


async def test_the_same_id_starts_the_users_own_session(there: There) -> None:
    """What makes sending twice safe is no way to find out, or to reach, what somebody else has sent."""
    for path, body in (
        ("/api/sessions", {"request": "Mine", "id": "second"}),
        ("/api/planning/plan", {"request": "How many orders are pending?", "id": "first"}),
    ):
        answer = await there.bob.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
        assert answer.json()["session_id"] not in there.sessions
        assert MARK not in answer.text


async def test_a_user_cannot_start_the_session_of_anothers_message_id(there: There) -> None:
    words = b"alice\nforeseen"
    for guess in (hashlib.sha256(words), hmac.new(b"", words, "sha256"), hmac.new(SECRET.encode(), words, "sha256")):
        taken = f"/api/sessions/{guess.hexdigest()[:16]}/messages"
        assert (await there.bob.post(taken, json={"type": "user_message", "content": "Mine"})).status_code == 200
    answer = await there.alice.post("/api/sessions", json={"request": "Hers", "id": "foreseen"})
    assert answer.status_code == 201, answer.text
    again = await there.alice.post("/api/sessions", json={"request": "Hers", "id": "foreseen"})
    assert again.json()["session_id"] == answer.json()["session_id"]


async def test_no_chat_continues_in_anothers_session(there: There) -> None:
    before = await _recorded(there.bus)
    for stream in (False, True):
        body = {"messages": [{"role": "user", "content": "And in Texas?"}], "stream": stream}
        answers = []
        for session_id in (*there.sessions, NOBODYS):
            answer = await there.bob.post("/api/chat", json=body | {"session_id": session_id})
            answers.append((answer.status_code, answer.text.replace(session_id, "ID")))
        assert answers[0][0] == 404
        assert len(set(answers)) == 1
    assert await _recorded(there.bus) == before


async def test_no_message_reaches_anothers_session(there: There) -> None:
    """Every type of the protocol, in several shapes, by REST and over a socket."""
    frames, before, number = FrameGenerator(3), await _recorded(there.bus), count()
    tries: set[tuple[str, str, str]] = set()
    for kind in TYPES:
        for session_id in there.sessions:
            message = frames.valid(kind) | {"id": f"m{next(number)}"}
            answer = await there.bob.post(f"/api/sessions/{session_id}/messages", json=message)
            if kind not in ("resume", "close"):  # which are for sockets
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), message
            assert MARK not in answer.text
            tries.add(("REST", kind, session_id))
            async with client(there.address, additional_headers=BOB) as he:
                await _says(he, message | {"session_id": session_id}, kind)
                assert MARK not in json.dumps(he.received)
                tries.add(("socket", kind, session_id))
    assert len(tries) == 4 * len(TYPES) >= 100
    assert await _recorded(there.bus) == before


async def _says(he: Client, message: dict[str, Any], kind: str) -> None:
    """Refused as it would be of a session that is not there; but a first word would begin that one."""
    await he.connection.send(json.dumps(message))
    if kind == "close":
        assert await he.closed() == 1000
        return
    refused = await he.error("not_found")
    if kind != "user_message":
        await he.connection.send(json.dumps(message | {"session_id": NOBODYS}))
        other = await he.error("not_found")
        assert refused | {"session_id": ""} == other | {
            "session_id": "",
            "message": other["message"].replace(NOBODYS, message["session_id"]),
            "content": other["content"].replace(NOBODYS, message["session_id"]),
        }


async def test_no_message_of_anothers_session_is_received(there: There) -> None:
    """Sockets that tried everything hear neither events nor drafts, though they sat there before it began."""
    to_come = "alices-session-to-come"
    async with (
        client(there.address, additional_headers=BOB) as he,
        client(there.address, additional_headers=ALICE) as she,
    ):
        for session_id in there.sessions:
            for kind in ("resume", "stop", "fork"):
                await he.send(kind, session_id=session_id)
                await he.error("not_found")
        await he.send("user_message", session_id=to_come, content="I was here first", workflow="gardening")
        await he.error("not_available")
        await she.send("user_message", session_id=to_come, content=MARK)
        await she.event("message.received")
        draft = Delta(session_id=to_come, version=1, draft_id="d", kind="plan", offset=0, text=MARK)
        for session_id in (*there.sessions, to_come):
            await there.bus.publish(
                f"delta.{session_id}.d", draft.model_copy(update={"session_id": session_id}).model_dump_json().encode()
            )
            await she.send("rename", session_id=session_id, title=MARK)
            await she.event("session.renamed")
        received_before = len(he.received)
        await he.send("stop", session_id=NOBODYS)
        await he.error("not_found")  # whatever came before this has been heard by now
        assert len(he.received) == received_before + 1
        assert MARK not in json.dumps(he.received)
        assert to_come not in json.dumps([message for message in he.received if message["type"] != "error"])


async def test_over_mcp(there: There) -> None:
    """Every tool of Parley's own MCP server that takes a session, with bob's key behind it."""
    before = await _recorded(there.bus)
    values = {"version": 2, "hash": "0" * 64, "text": "x", "seconds": 0}
    async with Assistant(mcp_server(lambda: GatewayAddress(f"ws://{there.address}/ws", "kb"))) as he:
        tools = (await he.list_tools()).tools
        named = [tool for tool in tools if "session_id" in tool.input_schema["properties"]]
        assert len(named) == 6
        for tool in named:
            for session_id in there.sessions:
                arguments = {name: values[name] for name in tool.input_schema["required"] if name in values}
                result = await he.call_tool(tool.name, arguments | {"session_id": session_id})
                assert result.is_error, tool.name
                assert "not_found" in str(result.content)
        listed = await he.call_tool("list_sessions", {})
        assert listed.structured_content == {"sessions": [], "total": 0}
    assert await _recorded(there.bus) == before


async def test_over_the_sdk_and_with_tickets(there: There) -> None:
    before = await _recorded(there.bus)
    async with Parley(f"http://{there.address}", token="kb", timeout=0) as parley:
        assert (await parley.sessions(MARK)).total == 0
        for session_id in there.sessions:
            session = parley.session(session_id)
            for ask in (session.snapshot, session.journal, session.wait, session.approve, session.reject, session.stop):
                with pytest.raises(RequestRefused, match="no session"):
                    await ask()
            with pytest.raises(ParleyError, match="no session"):
                await anext(session.events())
    ticket = (await there.bob.post("/api/tickets")).json()["ticket"]
    async with client(there.address, f"/ws?ticket={ticket}") as he:
        for session_id in there.sessions:
            await he.send("resume", session_id=session_id)
            await he.error("not_found")
    assert await _recorded(there.bus) == before


async def test_deleted_and_unknown_sessions_are_indistinguishable(there: There) -> None:
    assert (await there.alice.delete(f"/api/sessions/{there.sessions[1]}")).status_code == 200
    for method, path in _of_sessions(there.app):
        gone = await _ask(there.bob, method, path, there.sessions[1])
        assert gone == await _ask(there.bob, method, path, NOBODYS)
