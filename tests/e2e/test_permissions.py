"""Each service works with its NATS user's permissions. A service that exceeds them ends and logs why."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from parley.client.client import Parley as Client
from parley.client.client import RemoteSession
from parley.protocol.server import Snapshot
from shared.bus import Bus
from shared.bus.connection import FORBIDDEN
from shared.services import SERVICES
from shared.settings import Settings
from tests.e2e.parley_process import ROOT, RunningParley
from tests.support.http_client import http_client
from tests.support.store import STORE
from tests.support.timeouts import WAIT_TIMEOUT

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
EMAIL = STORE["users"][ORDER["user_id"]]["email"]
QUESTION = "How many orders are pending?"
CANCEL = f"Please cancel order {ORDER['order_id']}, I no longer need it. My e-mail is {EMAIL}."


async def approve_until_done(session: RemoteSession) -> Snapshot:
    """Answers questions and approves everything until the session rests; returns its last snapshot."""
    snapshot = await session.wait()
    while snapshot.phase in ("awaiting_approval", "awaiting_input", "escalated"):
        await (session.answer(EMAIL) if snapshot.phase == "awaiting_input" else session.approve())
        snapshot = await session.wait()
    assert snapshot.phase == "resting", snapshot.failure
    return snapshot


async def conversation(parley: Client) -> RemoteSession:
    """A session with a plan and code that was run, stopped during its next request, and renamed."""
    session = await parley.start("Help me create a simple calculator")
    await approve_until_done(session)
    await session.send(type="run")
    await session.wait()
    await session.send(type="continue")
    await session.say("Now make a to-do list")
    await session.stop()
    await session.send(type="rename", title="Numbers")
    return session


async def read_everything(url: str, session: RemoteSession) -> None:
    """Sends each GET request of the API, most of which the gateway answers from plan_store and the executor."""
    async with http_client(base_url=url) as http:
        paths: dict[str, Any] = (await http.get("/openapi.json")).json()["paths"]
        plans = (await http.get(f"/api/sessions/{session.id}/plans")).json()["plans"]
        version = plans[0]["version"]
        values = {"{session_id}": session.id, "{version}": str(version), "{turn}": "1", "{action_id}": "1.1"}
        values["{name}"] = "text_to_sql"
        for path in [path for path, methods in paths.items() if "get" in methods]:
            url_path = path
            for name, value in values.items():
                url_path = url_path.replace(name, value)
            answer = await http.get(url_path, params={"old": version, "new": version} if "diff" in path else {})
            assert answer.status_code < 500, (path, answer.status_code, answer.text)
        assert (await http.get("/readyz")).json()["ready"]


async def permission_errors(running: RunningParley) -> list[str]:
    """The log lines about violations that NATS refused, and about services that ended because of them."""
    logs = [*(running.home / "logs").glob("*.log"), running.home / "up.log"]
    texts = {path.name: path.read_text().splitlines() for path in await asyncio.to_thread(list, logs)}
    words = (" Violation", "nats_forbidden", f"exited with code {FORBIDDEN}")
    return [f"{name}: {line}" for name, lines in texts.items() for line in lines if any(word in line for word in words)]


async def test_services_never_exceed_their_permissions(running: RunningParley) -> None:
    async with Client(running.url) as parley:
        calculator = await conversation(parley)
        waiting = await parley.start("Help me create a simple calculator", settings={"approval_timeout": 1})
        cancelled = await parley.start(CANCEL, workflow="agentflow", settings={"world": "own"})
        await approve_until_done(cancelled)
        question = await parley.start(QUESTION, workflow="flow", settings={"confirm": "nothing"})
        await approve_until_done(question)
        await question.send(type="judge", accepted=True, saved=True)
        await approve_until_done(await parley.start(QUESTION, workflow="flow", settings={"confirm": "nothing"}))
        async for event in waiting.events():
            if event.type == "approval.expired":
                break
        await read_everything(running.url, calculator)
        async with http_client(base_url=running.url) as http:
            assert (await http.delete(f"/api/sessions/{calculator.id}")).status_code == 200
        types = {event.type for session in (cancelled, question, waiting) for event in await session.journal()}
    assert types >= {"turn.planned", "actions.started", "actions.finished", "turn.verified", "answer.given"}
    assert await permission_errors(running) == []


async def test_a_requester_cannot_redirect_the_reply(running: RunningParley) -> None:
    """NATS does not check the reply subject of a request, so each service does."""
    before = {name: running.pid_of(name) for name in ("planner", "executor", "plan_store")}
    bus = Bus(Settings(nats_url=running.nats_url), "test")
    await bus.connect()
    async with Client(running.url) as parley:
        session = await parley.start("Help me create a simple calculator")
        snapshot = await session.wait()
        for subject in ("tools.list", "flows.list", "plan_store.session.list", f"draft.get.{session.id}"):
            for reply in ("$JS.API.STREAM.PURGE.SESSIONS", f"session.{session.id}.nobody.approval.given"):
                await bus.client.publish(subject, b"{}", reply=reply)
        for subject in ("tools.list", "flows.list", "plan_store.session.list"):
            assert await bus.request(subject, b"{}"), "the service has handled the earlier requests"
        messages = await bus.log.read(session.id)
        assert len(messages) == snapshot.version, "nothing was stored, nothing was purged"
    await bus.stop()
    assert {name: running.pid_of(name) for name in before} == before
    assert await permission_errors(running) == []


def test_each_process_has_only_its_own_secrets(running: RunningParley) -> None:
    """Searches the environment of each process for the secrets."""
    folder = running.home / "secrets"
    secrets = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {"signing-secret", "nats-gateway", "nats-parley"} <= secrets.keys()
    secrets_of = {
        name: {secret for secret, value in secrets.items() if value in environment}
        for name in (*SERVICES, "rehearsal", "nats")
        if (environment := Path(f"/proc/{running.pid_of(name)}/environ").read_bytes())
    }
    expected = {name: {f"nats-{name}"} for name in SERVICES}
    assert secrets_of == expected | {"gateway": {"nats-gateway", "signing-secret"}, "rehearsal": set(), "nats": set()}


def test_other_users_cannot_read_the_files_of_a_running_parley(running: RunningParley) -> None:
    paths = [path for name in ("lock", "secrets", "nats", "logs") for path in (running.home / name).rglob("*")]
    paths += [*running.home.glob("*.db*"), running.home / "lock", running.home / "logs", running.home / "nats"]
    assert {path.name for path in paths} >= {"parley.db", "retail.db", "planner.log", "nats.conf", "store"}
    assert [str(path) for path in paths if path.exists() and path.stat().st_mode & 0o077] == []


async def test_a_permission_violation_ends_the_service_and_is_reported(running: RunningParley) -> None:
    """Starts plan_store as the NATS user of the planner, who may not read the messages for plan_store."""
    url = running.nats_url.rpartition("@")[2]
    password = (running.home / "secrets" / "nats-planner").read_text()
    environment = dict(os.environ) | {"NATS_URL": f"nats://planner:{password}@{url}", "PYTHONUNBUFFERED": "1"}
    program = (sys.executable, "-m", "services.plan_store.app")
    environment |= {"PARLEY_HOME": str(running.home / "other")}
    process = await asyncio.create_subprocess_exec(*program, cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(WAIT_TIMEOUT):
        _, output = await process.communicate()
    assert process.returncode == FORBIDDEN
    last: dict[str, Any] = json.loads(output.decode().splitlines()[-1])
    assert (last["event"], last["level"], last["service"]) == ("nats_forbidden", "critical", "plan_store")
    assert "permissions violation for " in last["error"]
    # Which subscriber fails first is a race: a durable consumer, or a request subject.
    assert re.search(r"consumer\.info\.\w+\.(plan_store|dead_letters|timers)|\"plan_store\.", last["error"]), last
    assert password not in output.decode()
