"""Every service does its whole work as the NATS user it is given, and one that does more ends, for all to see."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from parley.client.client import Parley as Client
from parley.client.client import Session
from parley.protocol.server import Snapshot
from shared.bus import Bus
from shared.bus.connection import FORBIDDEN
from shared.services import SERVICES
from shared.settings import Settings
from tests.e2e.running import ROOT, Parley
from tests.support.store import STORE

pytestmark = pytest.mark.timeout(180)
ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
EMAIL = STORE["users"][ORDER["user_id"]]["email"]
QUESTION = "How many orders are pending?"
CANCEL = f"Please cancel order {ORDER['order_id']}, I no longer need it. My e-mail is {EMAIL}."


async def to_its_end(session: Session) -> Snapshot:
    """Say yes to whatever is asked, until nothing is."""
    shown = await session.wait()
    while shown.phase in ("awaiting_approval", "awaiting_input", "escalated"):
        await (session.answer(EMAIL) if shown.phase == "awaiting_input" else session.approve())
        shown = await session.wait()
    assert shown.phase == "resting", shown.failure
    return shown


async def conversation(parley: Client) -> Session:
    """A plan, its code, edited and run, stopped in the middle of another one, and forked."""
    session = await parley.start("Help me create a simple calculator")
    await to_its_end(session)
    await session.send(type="run")
    await session.wait()
    await session.send(type="continue")
    await session.say("Now make a to-do list")
    await session.stop()
    await session.send(type="rename", title="Numbers")
    return session


async def everything_read(url: str, session: Session) -> None:
    """Each thing that the gateway shows of a session or of all of them, asked of plan_store and the executor."""
    async with httpx2.AsyncClient(base_url=url, timeout=20) as http:
        paths: dict[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text())["paths"]
        plans = (await http.get(f"/api/sessions/{session.id}/plans")).json()["plans"]
        version = plans[0]["version"]
        known = {"{session_id}": session.id, "{version}": str(version), "{turn}": "1", "{action_id}": "1.1"}
        known["{name}"] = "text_to_sql"
        for path in [path for path, methods in paths.items() if "get" in methods]:
            where = path
            for name, value in known.items():
                where = where.replace(name, value)
            answer = await http.get(where, params={"old": version, "new": version} if "diff" in path else {})
            assert answer.status_code < 500, (path, answer.status_code, answer.text)
        assert (await http.get("/readyz")).json()["ready"]


async def violations(running: Parley) -> list[str]:
    """What the server refused, and who ended because of it."""
    logs = [*(running.home / "logs").glob("*.log"), running.home / "up.log"]
    texts = {path.name: path.read_text().splitlines() for path in await asyncio.to_thread(list, logs)}
    words = (" Violation", "nats_forbidden", f"exited with code {FORBIDDEN}")
    return [f"{name}: {line}" for name, lines in texts.items() for line in lines if any(word in line for word in words)]


async def test_nobody_needs_more_than_they_may(running: Parley) -> None:
    async with Client(running.url) as parley:
        talk = await conversation(parley)
        patient = await parley.start("Help me create a simple calculator", settings={"approval_timeout": 1})
        cancelled = await parley.start(CANCEL, workflow="agentflow", settings={"world": "own"})
        await to_its_end(cancelled)
        asked = await parley.start(QUESTION, workflow="flow", settings={"confirm": "nothing"})
        await to_its_end(asked)
        await asked.send(type="judge", accepted=True, saved=True)
        await to_its_end(await parley.start(QUESTION, workflow="flow", settings={"confirm": "nothing"}))
        async for event in patient.events():
            if event.type == "approval.expired":
                break
        await everything_read(running.url, talk)
        async with httpx2.AsyncClient(base_url=running.url) as http:
            assert (await http.delete(f"/api/sessions/{talk.id}")).status_code == 200
        makers = {event.type for one in (cancelled, asked, patient) for event in await one.journal()}
    assert makers >= {"turn.planned", "actions.started", "actions.finished", "turn.verified", "answer.given"}
    assert await violations(running) == []


async def test_who_asks_cannot_have_an_answer_sent_elsewhere(running: Parley) -> None:
    """NATS does not check the reply subject of a request, so whoever answers does."""
    before = {name: running.pid_of(name) for name in ("planner", "executor", "plan_store")}
    bus = Bus(Settings(nats_url=running.nats_url), "test")
    await bus.connect()
    async with Client(running.url) as parley:
        session = await parley.start("Help me create a simple calculator")
        shown = await session.wait()
        for subject in ("tools.list", "flows.list", "plan_store.session.list", f"draft.get.{session.id}"):
            for reply in ("$JS.API.STREAM.PURGE.SESSIONS", f"session.{session.id}.nobody.approval.given"):
                await bus.client.publish(subject, b"{}", reply=reply)
        for subject in ("tools.list", "flows.list", "plan_store.session.list"):
            assert await bus.request(subject, b"{}"), "asked after the others, and answered"
        messages = await bus.log.read(session.id)
        assert len(messages) == shown.version, "nothing was stored, nothing was purged"
    await bus.stop()
    assert {name: running.pid_of(name) for name in before} == before
    assert await violations(running) == []


def test_each_process_knows_its_own_secrets_only(running: Parley) -> None:
    """By value, as the kernel shows the environments."""
    folder = running.home / "secrets"
    secrets = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {"signing-secret", "nats-gateway", "nats-parley"} <= secrets.keys()
    known = {
        name: {secret for secret, value in secrets.items() if value in environment}
        for name in (*SERVICES, "rehearsal", "nats")
        if (environment := Path(f"/proc/{running.pid_of(name)}/environ").read_bytes())
    }
    own = {name: {f"nats-{name}"} for name in SERVICES}
    assert known == own | {"gateway": {"nats-gateway", "signing-secret"}, "rehearsal": set(), "nats": set()}


def test_no_file_of_a_running_parley_can_be_read_by_others(running: Parley) -> None:
    paths = [path for name in ("lock", "secrets", "nats", "logs") for path in (running.home / name).rglob("*")]
    paths += [*running.home.glob("*.db*"), running.home / "lock", running.home / "logs", running.home / "nats"]
    assert {path.name for path in paths} >= {"parley.db", "retail.db", "planner.log", "nats.conf", "store"}
    assert [str(path) for path in paths if path.exists() and path.stat().st_mode & 0o077] == []


async def test_a_service_that_may_not_ends_and_it_is_seen(running: Parley) -> None:
    """plan_store with the planner's password: it asks for messages that are not the planner's."""
    url = running.nats_url.rpartition("@")[2]
    password = (running.home / "secrets" / "nats-planner").read_text()
    environment = dict(os.environ) | {"NATS_URL": f"nats://planner:{password}@{url}", "PYTHONUNBUFFERED": "1"}
    program = (sys.executable, "-m", "services.plan_store.app")
    environment |= {"PARLEY_HOME": str(running.home / "other")}
    process = await asyncio.create_subprocess_exec(*program, cwd=ROOT, env=environment, stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(30):
        _, said = await process.communicate()
    assert process.returncode == FORBIDDEN
    last: dict[str, Any] = json.loads(said.decode().splitlines()[-1])
    assert (last["event"], last["level"], last["service"]) == ("nats_forbidden", "critical", "plan_store")
    assert "permissions violation for " in last["error"]
    # of whichever of its subscribers began first: a durable consumer, or a request
    assert re.search(r"consumer\.info\.\w+\.(plan_store|dead_letters|timers)|\"plan_store\.", last["error"]), last
    assert password not in said.decode()
