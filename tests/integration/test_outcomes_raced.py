"""Stops race with the results of tools, on a real bus: the session records what was done, whichever comes first."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest

from parley.events import facts
from parley.events.values import ActionSpec, Effect, SessionSettings
from parley.protocol.tools import ToolSpec
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import Session
from shared.llm import ScriptedModel
from shared.log import commit
from shared.settings import Settings
from tests.support.stack import Person, working

NO_APPROVALS = SessionSettings(approval="never")
CONCURRENT_SESSIONS = 5


class Bank:
    """Slow tools; a test can wait for the events `began` and `returned` of a session's call."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls: Counter[str] = Counter()
        self.began: dict[str, asyncio.Event] = {}
        self.returned: dict[str, asyncio.Event] = {}

    def add_session(self, session_id: str) -> None:
        self.began[session_id], self.returned[session_id] = asyncio.Event(), asyncio.Event()

    async def run(self, call: ToolInvocation) -> ToolResult:
        self.calls[call.key] += 1
        self.began[call.session.id].set()
        await asyncio.sleep(self.seconds)
        self.returned[call.session.id].set()
        return ToolResult(ok=True, value="done")

    def tool(self, name: str, effect: Effect) -> RegisteredTool:
        return RegisteredTool(ToolSpec(name=name, description="", parameters={}, effect=effect), self.run)

    def executor(self, bus: Bus) -> Executor:
        return Executor(Registry(StaticSource(self.tool("pay", "irreversible"), self.tool("look", "read"))), bus)


async def start_turn(bus: Bus, session_id: str, *actions: ActionSpec) -> Person:
    person = Person(bus, session_id)
    await person.does(c.Say(text="Pay Bob", workflow="agentflow", settings=NO_APPROVALS))
    await person.does(c.PlanTurn(sub_goal="pay", actions=actions))
    return person


def statuses(session: Session) -> list[str]:
    return [action.status for action in session.turn.actions] if session.turn else []


def at_rest(session: Session) -> bool:
    return session.phase == "resting" and "started" not in statuses(session)


@pytest.mark.parametrize("stops", [20, pytest.param(150, marks=pytest.mark.long)])
async def test_a_stop_during_a_calls_return_loses_no_outcome(settings: Settings, bus: Bus, stops: int) -> None:
    bank, dice, end_counts = Bank(0.05), random.Random(7), Counter[str]()

    async def stop_session(number: int, slots: asyncio.Semaphore) -> None:
        async with slots:
            session_id = f"s{number}"
            bank.add_session(session_id)
            person = await start_turn(bus, session_id, ActionSpec(id="1.1", tool="pay", effect="irreversible"))
            await bank.began[session_id].wait()
            loaded = await person.load()  # load now, so that the stop below needs no read
            await bank.returned[session_id].wait()
            await asyncio.sleep(dice.uniform(0, 0.001))  # the race
            try:
                await commit(bus.log, loaded, c.Stop(), CommandMeta("user:ann", datetime.now(UTC), "stop"))
            except CommandRefused:
                end_counts["was over"] += 1
                return
            end_counts.update(statuses(await person.sees(at_rest)))

    async with working(settings, ScriptedModel(), "executor", handlers={"executor": bank.executor(bus).run_batch}):
        slots = asyncio.Semaphore(CONCURRENT_SESSIONS)
        await asyncio.gather(*(stop_session(number, slots) for number in range(stops)))
    assert end_counts["finished"] + end_counts["was over"] == stops
    assert end_counts["finished"] > stops // 4, "hardly any stop came in time, so the race was not tested"
    assert set(bank.calls.values()) == {1}


async def test_two_replicas_run_each_call_of_a_batch_once(settings: Settings, bus: Bus) -> None:
    """The user stops half of the sessions during a call. Every call runs once and gets an outcome."""
    bank = Bank(0.2)
    batch = (
        *(ActionSpec(id=f"1.{number}", tool="look", arguments={"at": number}) for number in (1, 2)),
        ActionSpec(id="1.3", tool="pay", effect="irreversible"),
    )

    async def run_session(number: int) -> tuple[list[str], int]:
        session_id = f"s{number}"
        bank.add_session(session_id)
        person = await start_turn(bus, session_id, *batch)
        if number % 2:
            await bank.began[session_id].wait()
            await person.does(c.Stop())
            ended = await person.sees(at_rest)
        else:
            ended = await person.phase("verifying")
        events = await person.events()
        outcomes = [
            outcome for event in events if isinstance(event, facts.ActionsFinished) for outcome in event.outcomes
        ]
        return statuses(ended), len(outcomes)

    async with AsyncExitStack() as replicas:
        for _ in range(2):
            handlers = {"executor": bank.executor(bus).run_batch}
            await replicas.enter_async_context(working(settings, ScriptedModel(), "executor", handlers=handlers))  # type: ignore[arg-type]
        results = await asyncio.gather(*map(run_session, range(10)))
    assert all(count == len(batch) for _, count in results)
    for number, (final_statuses, _) in enumerate(results):
        assert final_statuses == (["failed", "failed", "finished"] if number % 2 else ["finished"] * 3)
    assert set(bank.calls.values()) == {1}
