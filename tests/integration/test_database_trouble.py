"""Databases that somebody else holds, or that are away, in the middle of work: it waits, says why, and is done once."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import packs.retail.database
import services.plan_store.database
from chaos.collect import read_effects
from chaos.cuts import wishes
from chaos.storage import held
from packs.retail.store import Worlds
from parley.events.values import SessionSettings
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.log import SessionAtPosition, commit
from shared.settings import Settings
from shared.store import Store
from tests.conftest import person
from tests.support.inbox import settled
from tests.support.rehearsed import rehearsed
from tests.support.stack import Person, working
from tests.support.store import STORE

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

pytest_plugins = ("tests.support.postgres",)
CANCEL = next(wish.content for wish in wishes() if wish.name == "retail")
HURRY = 100  # milliseconds that SQLite waits for another writer, instead of ten seconds


async def said(caplog: pytest.LogCaptureFixture, words: str, seconds: float = 10) -> None:
    """Until the log says it: whoever waits for a database tells nobody else."""
    async with asyncio.timeout(seconds):
        while words not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def asked_to_approve(bus: Bus) -> tuple[Person, c.Approve]:
    """Ann, who is asked whether an order may be cancelled, and her yes."""
    ann = Person(bus, "ann-1")
    await ann.does(c.Say(text=CANCEL, workflow="agentflow", settings=SessionSettings()))
    waiting = await ann.phase("awaiting_approval")
    assert waiting.turn
    action = waiting.turn.actions[0]
    return ann, c.Approve(version=waiting.version, action_id=action.spec.id, hash=action.hash)


async def cancelled_once(url: str) -> bool:
    """Whether one order was cancelled, once, and nothing else was done."""
    worlds = Worlds(url, lambda: STORE)
    await worlds.open()
    changed: Any = (await worlds.world("shared").changes())["orders"]
    await worlds.close()
    before: Any = STORE["orders"]
    [(name, order)] = changed.items()
    refunds = [entry for entry in order["payment_history"] if entry["transaction_type"] == "refund"]
    done = [effect.tool for effect in await read_effects(url)]
    return (done, len(refunds)) == (["cancel_pending_order"], len(before[name]["payment_history"]))


async def test_a_change_waits_for_a_store_that_somebody_writes_to(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(packs.retail.database, "BUSY_MS", HURRY)
    async with rehearsed(settings) as model, working(model.settings, model.model):
        ann, yes = await asked_to_approve(bus)
        async with held(settings.parley_home / "retail.db"):
            await ann.does(yes)
            await said(caplog, "WorldsDown")
        ended = await ann.phase("resting", "failed")
    assert "database is locked" in caplog.text
    assert ended.rest_reason == "answered", ended.failure
    assert await cancelled_once(settings.retail_url)


@pytest.mark.timeout(120)
async def test_a_change_waits_for_a_store_that_is_away(
    own_postgres: "PostgresServer", settings: Settings, bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings.model_copy(update={"retail_database_url": own_postgres.url})
    async with rehearsed(settings) as model, working(model.settings, model.model):
        ann, yes = await asked_to_approve(bus)
        await asyncio.to_thread(own_postgres.stop)
        await ann.does(yes)
        await said(caplog, "WorldsDown")
        await asyncio.to_thread(own_postgres.start)
        ended = await ann.phase("resting", "failed", seconds=40)
    assert ended.rest_reason == "answered", ended.failure
    assert await cancelled_once(settings.retail_url)


async def test_sessions_wait_for_a_database_that_somebody_writes_to(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(services.plan_store.database, "BUSY_MS", HURRY)
    plan_store, store = PlanStore(settings), Store(bus)
    await plan_store.start()
    async with held(settings.parley_home / "parley.db"):
        loaded, _ = await commit(
            bus.log, SessionAtPosition(Session("a"), 0), c.Say(text="Write a calculator"), person()
        )
        await said(caplog, "database is locked")
        assert await store.load("a", at_least=loaded.position) == loaded, "what the log tells needs no database"
        assert (await store.ask("session.list"))["sessions"] == []
    await settled(bus, "plan_store")
    assert [row["version"] for row in (await store.ask("session.list"))["sessions"]] == [1]
    await plan_store.stop()
