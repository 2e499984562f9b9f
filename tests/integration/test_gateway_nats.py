"""The gateway with a real nats-server and plan_store; the tests append the workers' events."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from parley.client import Parley
from parley.client.errors import RequestRefused
from parley.events.values import ActionSpec
from parley.protocol.tools import TOOLS_LIST, TOOLS_PREVIEW, ListTools, Preview, PreviewCall, ToolPage, ToolSpec
from services.gateway.app import build
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.services import WORKERS
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.gateway import Client, client, serving
from tests.support.http_client import http_client
from tests.support.nats import NatsServer, kill9
from tests.support.stories import CODE, Conversation
from tests.support.timeouts import WAIT_TIMEOUT


@pytest.fixture
async def addresses(settings: Settings, plan_store: PlanStore) -> AsyncIterator[tuple[str, str]]:
    """Two gateways on the same NATS."""
    without_login = settings.model_copy(update={"parley_auth": "none"})
    buses = Bus(without_login, "gateway"), Bus(without_login, "gateway")
    gateway, other_gateway = (build(without_login, bus, PlanStoreClient(bus), bus.log) for bus in buses)
    async with serving(gateway) as first, serving(other_gateway) as second:
        await asyncio.gather(*(_ready(address) for address in (first, second)))
        yield first, second


async def _ready(address: str, status: int = 200) -> Any:
    """Wait until the readiness check responds with this status. Returns its checks."""
    async with http_client(base_url=f"http://{address}") as http, asyncio.timeout(WAIT_TIMEOUT):
        while (await http.get("/readyz")).status_code != status:  # noqa: ASYNC110  a health endpoint is polled
            await asyncio.sleep(0.02)
        return (await http.get("/readyz")).json()


async def test_two_gateways_show_the_same_conversation(addresses: tuple[str, str], bus: Bus) -> None:
    async with client(addresses[0]) as her, client(addresses[1]) as him:
        await her.send("user_message", content="Help me create a simple calculator")
        session_id = (await her.event("message.received"))["session_id"]
        story = Conversation(bus.log, session_id, "local")
        await him.send("resume", session_id=session_id)
        await him.until("snapshot")
        await story.drafts()
        await her.until("text_plan_review")
        await him.until("text_plan_review")
        await him.send("approval", approved=True)
        await her.event("plan.approved")
        await story.codes()
        await her.until("code_review")
        await her.send("approval", approved=True)
        assert (await him.until("completion"))["final_code"] == CODE
        await her.until("completion")
        assert her.versions == him.versions == list(range(1, len(her.versions) + 1))


async def test_a_session_over_rest_from_creation_to_deletion(addresses: tuple[str, str], bus: Bus) -> None:
    async with http_client(base_url=f"http://{addresses[0]}") as http:
        created = await http.post("/api/sessions", json={"request": "A calculator", "id": "one"})
        assert created.status_code == 201, created.text
        assert (
            await http.post("/api/sessions", json={"request": "A calculator", "id": "one"})
        ).json() == created.json()
        session_id = created.json()["session_id"]
        url = f"/api/sessions/{session_id}"
        story = Conversation(bus.log, session_id, "local")
        await story.drafts()
        snapshot = (await http.get(url)).json()
        assert snapshot["state"] == "text_plan_approval"

        refused = await http.post(f"{url}/messages", json={"type": "approval", "approved": True})
        assert (refused.status_code, refused.json()["code"]) == (409, "nothing_shown")
        stale = await http.post(f"{url}/messages", json={"type": "approval", "approved": True, "version": 1})
        assert (stale.status_code, stale.json()["code"]) == (409, "stale_version")
        edit = {"type": "edit", "version": 2, "steps": ["Only this"]}
        assert (await http.post(f"{url}/messages", json=edit)).json()["version"] == 3
        diff = (await http.get(f"{url}/plans/diff", params={"from": 2, "to": 3})).json()
        assert "+1. Only this" in diff["unified"]
        assert [plan["number"] for plan in (await http.get(f"{url}/plans")).json()["plans"]] == [1, 2]
        assert (await http.get(f"{url}/plans/3")).json()["by"] == "user:local"
        assert (await http.get(f"{url}/plans/9")).status_code == 404

        plan_hash = (await http.get(f"{url}/plans/3")).json()["hash"]
        yes = {"type": "approval", "approved": True, "version": 3, "hash": plan_hash}
        assert (await http.post(f"{url}/messages", json=yes)).status_code == 200
        assert (await http.get(f"{url}/export", params={"format": "py"})).status_code == 404
        await story.codes()
        assert [code["code"] for code in (await http.get(f"{url}/codes")).json()["codes"]] == [CODE]
        program = await http.get(f"{url}/export", params={"format": "py"})
        assert program.text == CODE
        assert program.headers["content-disposition"] == f'attachment; filename="a-calculator-{session_id[:8]}.py"'
        assert "1. Only this" in (await http.get(f"{url}/export")).text
        whole = (await http.get(f"{url}/export", params={"format": "json"})).json()
        journal = (await http.get(f"{url}/journal", params={"after": 2})).json()
        assert journal["events"] == whole["journal"][2:]
        assert whole["session"]["version"] == journal["version"] == 6

        listed = (await http.get("/api/sessions", params={"q": "calculator"})).json()
        assert [session["id"] for session in listed["sessions"]] == [session_id]
        assert (await http.get("/api/sessions", params={"q": "unheard of"})).json()["total"] == 0
        assert (await http.get("/api/plans")).json()["total"] == 1
        assert (await http.get("/api/usage")).json() == {"rows": []}
        assert (await http.get("/api/dead")).json()["parked_total"] == 0

        fork = (await http.post(f"{url}/messages", json={"type": "fork"})).json()["fork_id"]
        assert (await http.delete(url)).status_code == 200
        assert (await http.get(url)).status_code == 404
        assert (await http.get(f"/api/sessions/{fork}/plans")).json()["plans"][0]["goal"] == "A calculator"


@pytest.mark.races
async def test_racing_clients_produce_one_history_and_clear_refusals(addresses: tuple[str, str], bus: Bus) -> None:
    """Clients at two gateways approve, edit, stop and retry one session: one history, and a reason for each refusal."""
    session_id = uuid4().hex
    story = Conversation(bus.log, session_id, "local")
    await story.plan()
    rounds = 100
    async with client(addresses[0]) as her, client(addresses[1]) as him:
        counts = await asyncio.gather(
            *(_send_random_messages(sender, session_id, rounds, n) for n, sender in enumerate((her, him)))
        )
        assert sum(accepted + refused for accepted, refused in counts) == 2 * rounds
        assert all(accepted for accepted, _ in counts)
        assert sum(refused for _, refused in counts) > 0
        async with http_client(base_url=f"http://{addresses[0]}") as http:
            url = f"/api/sessions/{session_id}/journal"
            journal = (await http.get(url, params={"limit": 1000})).json()
        versions = [event["version"] for event in journal["events"]]
        assert versions == list(range(1, len(versions) + 1))
        assert len(versions) == 2 + sum(accepted for accepted, _ in counts)
        for sender in (her, him):
            while sender.versions[-1] < versions[-1]:
                await sender.next()
            assert sender.versions == versions


async def _send_random_messages(sender: Client, session_id: str, rounds: int, seed: int) -> tuple[int, int]:
    """Send `rounds` random messages. Returns the numbers of accepted and refused ones."""
    dice = random.Random(seed)
    await sender.send("resume", session_id=session_id)
    await sender.until("event", version=2)
    version, accepted, refused = 2, 0, 0
    for number in range(rounds):
        key = f"{seed}-{number}"
        kind = dice.choice(["approval", "edit", "stop", "retry", "replan"])
        fields: dict[str, dict[str, Any]] = {
            "approval": {"approved": True, "version": version},
            "edit": {"version": version, "steps": [f"Step {key}"]},
        }
        await asyncio.sleep(0.06)  # stays below the rate limit
        await sender.send(kind, id=key, **fields.get(kind, {}))
        while True:
            message = await sender.next()
            if message["type"] == "text_plan_review":
                version = message["version"]
            if message["type"] == "error" and message["reply_to"] == key:
                assert message["code"] in ("not_now", "stale_version", "already_done", "invalid"), message
                refused += 1
                break
            if message["type"] == "event" and message["event"]["id"] == f"{session_id}:{key}":
                accepted += 1
                break
    return accepted, refused


@pytest.mark.races
async def test_the_gateway_recovers_when_nats_restarts(addresses: tuple[str, str], bus: Bus, nats: NatsServer) -> None:
    async with client(addresses[0]) as her:
        await her.send("user_message", content="A calculator")
        await her.event("message.received")
        kill9(nats)
        async with http_client(base_url=f"http://{addresses[0]}") as http:
            assert (await http.get("/healthz")).status_code == 200
        readiness = await _ready(address=addresses[0], status=503)
        assert readiness["checks"]["nats"].startswith("no connection")
        await her.send("rename", title="Lost?", id="r1")
        await her.error("unavailable")
        await asyncio.to_thread(nats.restart)
        await _ready(addresses[0])
        await her.send("rename", title="Kept", id="r1")
        assert (await her.event("session.renamed"))["title"] == "Kept"
        await Conversation(bus.log, her.session_id, "local").drafts()
        await her.until("text_plan_review")


@pytest.mark.races
async def test_the_gateway_can_start_before_nats_and_plan_store(tmp_path: Path) -> None:
    settings = Settings(nats_url="nats://127.0.0.1:9", parley_home=tmp_path, parley_auth="none")
    bus = Bus(settings, "gateway")
    async with serving(build(settings, bus, PlanStoreClient(bus, wait=0.5), bus.log)) as address:
        async with http_client(base_url=f"http://{address}") as http:
            assert (await http.get("/healthz")).json() == {"alive": True}
            ready = await http.get("/readyz")
            assert ready.status_code == 503
            assert set(ready.json()["checks"]) == {"nats", "stream", "plan_store", "page", "upgrade", *WORKERS}
            assert (await http.get("/api/sessions")).status_code == 503
        async with client(address) as her:
            await her.send("user_message", content="Anybody there?")
            await her.error("unavailable")
            await her.send("resume", session_id="s")
            await her.error("unavailable")


async def test_tools_artefacts_inbox_and_memories_over_the_real_bus(addresses: tuple[str, str], bus: Bus) -> None:
    previewed: list[PreviewCall] = []

    async def list_tools(_: str, data: bytes) -> bytes:
        words = ListTools.model_validate_json(data).query
        spec = ToolSpec(name="find_order", description=words, parameters={}, effect="read")
        return ToolPage(tools=(spec,), total=1).model_dump_json().encode()

    async def preview(_: str, data: bytes) -> bytes:
        previewed.append(PreviewCall.model_validate_json(data))
        return Preview(known=False).model_dump_json().encode()

    async with http_client(base_url=f"http://{addresses[0]}/api") as http:
        assert (await http.get("/tools")).status_code == 503
        await bus.answer(TOOLS_LIST, list_tools, queue="executor")
        await bus.answer(TOOLS_PREVIEW, preview, queue="executor")
        assert (await http.get("/tools", params={"q": "look"})).json()["tools"][0]["description"] == "look"

        created = await http.post("/sessions", json={"request": "Cancel #W1", "workflow": "agentflow"})
        session_id = created.json()["session_id"]
        url = f"/sessions/{session_id}"
        story = Conversation(bus.log, session_id, "local")
        actions = (ActionSpec(id="1.1", tool="cancel_order", arguments={"order_id": "#W1"}, effect="write"),)
        await story.commit(c.PlanTurn(sub_goal="Cancel it", actions=actions))
        assert (await http.get(f"{url}/actions/1.1/preview")).json()["known"] is False
        assert previewed == [PreviewCall(session_id=session_id, tool="cancel_order", arguments={"order_id": "#W1"})]
        waiting = await _rows_once_projected(http, "/inbox", "sessions")
        assert [(row["id"], row["state"]) for row in waiting] == [(session_id, "action_approval")]

        await bus.keep(f"{session_id}/1/1.1/1", b"much" * 50_000)
        assert (await http.get(f"{url}/artefacts/1/1.1")).content == b"much" * 50_000
        assert (await http.get(f"{url}/artefacts/1/1.2")).status_code == 404
        await story.commit(c.Stop())
        assert (await http.get("/memories", params={"q": "nothing like it"})).json()["total"] == 0
        memories = await _rows_once_projected(http, "/memories?q=cancel", "items")
        assert memories[0]["request"] == "Cancel #W1"
        for memory_id in (f"{session_id}.2", "nobody.1", "nonsense", f"{session_id}.0", "a.b.1", "x" * 80):
            refused = await http.delete(f"/memories/{memory_id}")
            assert (refused.status_code, refused.json()["message"]) == (404, f"You have no memory {memory_id}.")
        async with Parley(f"http://{addresses[0]}") as parley:
            assert [row.id for row in (await parley.memories()).items] == [memories[0]["id"]] == [f"{session_id}.1"]
            await parley.forget(memories[0]["id"])
            assert (await parley.memories()).total == 0
            with pytest.raises(RequestRefused, match=r"You have no memory nonsense\."):
                await parley.forget("nonsense")


async def test_dead_letters_are_dismissed_over_rest(addresses: tuple[str, str], bus: Bus) -> None:
    await bus.client.jetstream().publish("session.zzz.planner.x", b"what?")
    async with http_client(base_url=f"http://{addresses[0]}/api") as http:
        [dead_letter] = await _rows_once_projected(http, "/dead", "parked")
        url = f"/dead/SESSIONS/{dead_letter['position']}"
        dismissed = await http.delete(url)
        assert (dismissed.status_code, dismissed.json()) == (200, {"stream": "SESSIONS", "stream_seq": 1, "entries": 1})
        repeated = await http.delete(url)
        assert (repeated.status_code, repeated.json()) == (200, dismissed.json())
        unknown = await http.delete("/dead/SESSIONS/2")
        assert (unknown.status_code, unknown.json()["message"]) == (404, "Nothing is listed of SESSIONS#2.")
        assert (await http.get("/dead")).json()["parked_total"] == 0
        [entry] = (await http.get("/dead", params={"dismissed": True})).json()["parked"]
        assert (entry["session_id"], entry["dismissed_by"]) == ("zzz", "local")
        assert (await http.delete("/dead/SESSIONS/0")).status_code == 422
        assert (await http.post(url)).status_code == 405


async def _rows_once_projected(http: httpx2.AsyncClient, path: str, name: str) -> Any:
    """Poll the list until the projection has caught up and it has rows."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not (rows := (await http.get(path)).json().get(name)):  # noqa: ASYNC110  a list over REST is polled
            await asyncio.sleep(0.05)
    return rows
