"""Databases that are locked or unavailable during work: services wait, log the reason, and act only once."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import packs.retail.database
import services.plan_store.database
from chaos.collect import read_effects
from chaos.crash_scenarios import scenarios
from chaos.storage_faults import database_locked
from packs.retail.store import Worlds
from parley.events.values import SessionSettings
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.conftest import person
from tests.support.inbox import until_idle
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, working
from tests.support.store import STORE
from tests.support.timeouts import WAIT_TIMEOUT

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

pytest_plugins = ("tests.support.postgres",)
CANCEL = next(scenario.content for scenario in scenarios() if scenario.name == "retail")
BUSY_MS = 100  # SQLite waits so long for another writer, instead of ten seconds


async def wait_for_log(caplog: pytest.LogCaptureFixture, words: str) -> None:
    """Wait until the service logs these words: a wait for a database causes no event."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while words not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def session_awaiting_approval(bus: Bus) -> tuple[Person, c.Approve]:
    """Ann, whose session asks her to approve that an order is cancelled, and the approval she can send."""
    ann = Person(bus, "ann-1")
    await ann.does(c.Say(text=CANCEL, workflow="agentflow", settings=SessionSettings()))
    waiting = await ann.phase("awaiting_approval")
    assert waiting.turn
    action = waiting.turn.actions[0]
    return ann, c.Approve(version=waiting.version, action_id=action.spec.id, hash=action.hash)


async def is_cancelled_once(url: str) -> bool:
    """Whether exactly one order was cancelled, and nothing else was changed."""
    worlds = Worlds(url, lambda: STORE)
    await worlds.open()
    changed: Any = (await worlds.world("shared").changes())["orders"]
    await worlds.close()
    before: Any = STORE["orders"]
    [(name, order)] = changed.items()
    refunds = [entry for entry in order["payment_history"] if entry["transaction_type"] == "refund"]
    tools = [effect.tool for effect in await read_effects(url)]
    return (tools, len(refunds)) == (["cancel_pending_order"], len(before[name]["payment_history"]))


async def test_a_write_waits_for_a_locked_retail_store(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(packs.retail.database, "BUSY_TIMEOUT_MS", BUSY_MS)
    async with rehearsal_server(settings) as model, working(model.settings, model.model):
        ann, approval = await session_awaiting_approval(bus)
        async with database_locked(settings.parley_home / "retail.db"):
            await ann.does(approval)
            await wait_for_log(caplog, "WorldsUnavailable")
        ended = await ann.phase("resting", "failed")
    assert "database is locked" in caplog.text
    assert ended.rest_reason == "answered", ended.failure
    assert await is_cancelled_once(settings.retail_url)


async def test_a_write_waits_for_an_unavailable_retail_store(
    own_postgres: "PostgresServer", settings: Settings, bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings.model_copy(update={"retail_database_url": own_postgres.url})
    async with rehearsal_server(settings) as model, working(model.settings, model.model):
        ann, approval = await session_awaiting_approval(bus)
        await asyncio.to_thread(own_postgres.stop)
        await ann.does(approval)
        await wait_for_log(caplog, "WorldsUnavailable")
        await asyncio.to_thread(own_postgres.start)
        ended = await ann.phase("resting", "failed")
    assert ended.rest_reason == "answered", ended.failure
    assert await is_cancelled_once(settings.retail_url)


async def test_plan_store_waits_for_a_locked_database_and_still_answers(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(services.plan_store.database, "BUSY_MS", BUSY_MS)
    plan_store, store = PlanStore(settings), PlanStoreClient(bus)
    await plan_store.start()
    async with database_locked(settings.parley_home / "parley.db"):
        loaded, _ = await commit(
            bus.log, SessionAtPosition(Session("a"), 0), c.Say(text="Write a calculator"), person()
        )
        await wait_for_log(caplog, "database is locked")
        assert await store.load("a", at_least=loaded.position) == loaded, "a session is loaded from the log alone"
        assert (await store.ask("session.list"))["sessions"] == []
    await until_idle(bus, "plan_store")
    assert [row["version"] for row in (await store.ask("session.list"))["sessions"]] == [1]
    await plan_store.stop()
