"""Paths while executors are killed: reading nodes run again, changes are made once, every path comes to its end."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from retail.generate import generate
from retail.store import Worlds
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.environment import child_environment
from shared.events.values import SessionSettings
from shared.settings import Settings
from tests.support.rehearsed import Rehearsed, rehearsed
from tests.support.stack import Person, working
from tests.support.walking import walked

PAIRS = 4  # a question and a complaint each
STORE = generate()
PENDING = [order for order in STORE["orders"].values() if order["status"] == "pending"]
COMPLAINT = ["classify_complaint", "find_customer", "read_order", "assess", "cancel_order", "write_reply"]


async def executor(settings: Settings) -> asyncio.subprocess.Process:
    environment = child_environment(
        NATS_URL=settings.nats_url,
        PARLEY_HOME=str(settings.parley_home),
        ACK_WAIT=str(settings.ack_wait),
        OPENAI_BASE_URL=settings.openai_base_url,
        OPENAI_MODEL=settings.openai_model,
    )
    with (settings.parley_home / "executor.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "services.executor.app", env=environment, stderr=log
        )


async def kill_now_and_then(settings: Settings, running: list[asyncio.subprocess.Process], kills: list[int]) -> None:
    dice = random.Random(7)
    while True:
        await asyncio.sleep(dice.uniform(0.4, 1.2))  # the fault itself: at any moment of a node's work
        victim = running.pop(dice.randrange(len(running)))
        victim.kill()
        kills.append(await victim.wait())
        running.append(await executor(settings))


@asynccontextmanager
async def killed(settings: Settings) -> AsyncIterator[tuple[Rehearsed, list[int]]]:
    kills: list[int] = []
    async with rehearsed(settings) as model:
        plan_store = PlanStore(model.settings)
        await plan_store.start()
        running = [await executor(model.settings), await executor(model.settings)]
        killing = asyncio.create_task(kill_now_and_then(model.settings, running, kills))
        try:
            yield model, kills
        finally:
            killing.cancel()
            with suppress(asyncio.CancelledError):
                await killing
            for process in running:
                with suppress(ProcessLookupError):
                    process.terminate()
            await asyncio.gather(*(process.wait() for process in running))
            await plan_store.stop()


async def asks(bus: Bus, number: int) -> Session:
    ann = Person(bus, f"asks-{number}")
    chosen = SessionSettings(confirm="nothing")
    await ann.does(c.Say(text="How many orders are pending?", workflow="flow", settings=chosen))
    return await ann.phase("resting", "failed", seconds=90)


async def complains(bus: Bus, number: int) -> Session:
    order: Any = PENDING[number]
    ann = Person(bus, f"complains-{number}")
    email = STORE["users"][order["user_id"]]["email"]
    text = f"I want to complain: I no longer need order {order['order_id']}, please cancel it. My e-mail is {email}."
    chosen = SessionSettings(confirm="nothing", approval="never")
    await ann.does(c.Say(text=text, workflow="flow", settings=chosen))
    return await ann.phase("resting", "failed", seconds=90)


@pytest.mark.timeout(240)
async def test_every_path_ends_and_every_change_is_made_once(settings: Settings, bus: Bus) -> None:
    async with (
        killed(settings) as (model, kills),
        working(model.settings, model.model, "planner", "verifier", "generator"),
    ):
        complaints = await asyncio.gather(*(complains(bus, number) for number in range(PAIRS)))
        questions = await asyncio.gather(*(asks(bus, number) for number in range(PAIRS)))
    for done in complaints:
        assert (done.reason, walked(done)) == ("answered", COMPLAINT), (done.phase, done.answer, done.failure)
    for done in questions:
        assert str(len(PENDING) - PAIRS) in done.answer, (done.phase, done.answer, done.failure)
    assert len(kills) >= 3
    worlds = Worlds(settings.retail_url, generate)
    await worlds.open()
    after: Any = (await worlds.world("shared").dump())["orders"]
    await worlds.close()
    for order in PENDING[:PAIRS]:
        paid = after[order["order_id"]]["payment_history"]
        refunds = [entry for entry in paid if entry["transaction_type"] == "refund"]
        assert len(refunds) == len(order["payment_history"])
