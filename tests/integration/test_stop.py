"""Stop, pressed in every phase: it rests at once, nothing is begun any more, and a retry goes on where it was."""

import asyncio
import os
import time
from collections.abc import AsyncIterator

import pytest

from parley.events import facts
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.settings import Settings
from tests.e2e.parley_process import descendants
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.stack import working
from tests.support.watcher import REQUEST, Watcher, in_review

SLOW_IMPORT = "import time\n\ntime.sleep(2)\n"


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[RehearsalServer]:
    async with rehearsal_server(settings) as server, working(server.settings, server.model):
        yield server


@pytest.fixture
async def person(bus: Bus, session_id: str) -> Watcher:
    person = Watcher(bus, session_id)
    await person.watch()
    return person


class Sandbox:
    """Sees the programs that run in the sandbox: they are processes of ours."""

    def __init__(self) -> None:
        self._before = set(descendants(os.getpid()))

    async def runs(self, condition: bool) -> None:
        async with asyncio.timeout(10):
            while bool(set(descendants(os.getpid())) - self._before) is not condition:  # noqa: ASYNC110  it tells nobody
                await asyncio.sleep(0.02)


async def stops(person: Watcher, server: RehearsalServer) -> Session:
    """Stop. Nothing is asked of the model from then on; what was under way ends and is accounted for."""
    began = time.monotonic()
    stop = await person.does(c.Stop())
    calls = await server.wait_for_calls(lambda calls: all(call["outcome"] != "running" for call in calls), seconds=5)
    session = await person.sees(lambda s: s.spent.calls == len(calls), seconds=5)
    assert time.monotonic() - began < 3
    assert (session.phase, session.rest_reason) == ("resting", "stopped")
    assert all(call["at"] < stop.at.timestamp() + 0.1 for call in calls)
    return session


async def stops_drafting(person: Watcher, server: RehearsalServer, task: str) -> None:
    """Stop while the model writes: its call is cancelled, and what it cost is a fact."""
    session = await stops(person, server)
    call = (await server.calls())[-1]
    assert (call["task"], call["outcome"]) == (task, "cancelled")
    recorded = (await person.events())[-1]
    assert isinstance(recorded, facts.UsageRecorded)
    assert recorded.version == session.version
    assert [(call.outcome, call.estimated) for call in recorded.usage[-1:]] == [("cancelled", True)]


async def to_code(person: Watcher) -> None:
    await person.does(c.Say(text=REQUEST))
    await person.phase("awaiting_approval")
    await person.approves()
    await person.sees(in_review(1))


async def test_while_a_plan_is_written(server: RehearsalServer, person: Watcher) -> None:
    await server.fault(task="text_plan", token_delay=0.1, times=1)
    await person.does(c.Say(text=REQUEST))
    await person.drafting("plan")
    await stops_drafting(person, server, "text_plan")
    await person.does(c.Retry())
    await person.phase("awaiting_approval")
    assert await person.event_types() == ["message.received", "session.stopped", "session.retried", "plan.drafted"]


async def test_while_code_and_its_tests_are_written(server: RehearsalServer, person: Watcher) -> None:
    await person.does(c.Say(text=REQUEST))
    await person.phase("awaiting_approval")
    await server.fault(task="code", token_delay=0.1, times=1)
    await server.fault(task="tests", token_delay=0.1, times=1)
    await person.approves()
    await person.drafting("code")
    await stops_drafting(person, server, "code")
    await person.does(c.Retry())
    await person.drafting("tests")
    await stops_drafting(person, server, "tests")
    await person.does(c.Retry())
    session = await person.sees(in_review(1))
    assert session.code
    assert [check.ok for check in session.code.checks] == [True, True, True]


async def test_while_the_tests_run(server: RehearsalServer, person: Watcher) -> None:
    await to_code(person)
    sandbox = Sandbox()
    await server.fault(task="tests", latency=0.5, times=1)  # the linter is a process too, and it is gone by then
    await person.edits(SLOW_IMPORT)
    await server.wait_for_calls(lambda calls: len(calls) == 4)
    await sandbox.runs(False)
    await sandbox.runs(True)
    await stops(person, server)
    await sandbox.runs(False)
    await person.does(c.Retry())
    session = await person.sees(in_review(2))
    assert session.code
    assert session.code.checks[-1].name == "tests"


async def test_while_the_program_runs_and_while_it_is_judged(server: RehearsalServer, person: Watcher) -> None:
    await to_code(person)
    await person.edits(SLOW_IMPORT)
    await person.sees(in_review(2), seconds=30)
    await person.approves()
    sandbox = Sandbox()
    await person.does(c.Run())
    await sandbox.runs(True)
    await stops(person, server)
    await sandbox.runs(False)
    session = await person.sees(lambda s: s.turn is not None and s.turn.actions[0].status == "failed")
    assert session.phase == "resting"
    assert session.turn
    assert session.turn.actions[0].error == "Stopped by the person."

    await server.fault(task="verdict", token_delay=0.1, times=1)
    await person.does(c.Retry())
    await person.drafting("verdict")
    await stops_drafting(person, server, "verdict")
    await person.does(c.Retry())
    session = await person.sees(lambda s: s.turn is None or s.turn.verdict is not None)
    assert session.failure is None


async def test_stop_and_retry_faster_than_the_work_ends(server: RehearsalServer, person: Watcher) -> None:
    await server.fault(task="text_plan", token_delay=0.05, times=3)
    await person.does(c.Say(text=REQUEST))
    for _ in range(3):
        await person.drafting("plan")
        await person.does(c.Stop())
        await person.does(c.Retry())
    session = await person.phase("awaiting_approval")
    assert session.counts.plans == 1
    calls = await server.wait_for_calls(lambda calls: all(call["outcome"] != "running" for call in calls))
    assert [call["outcome"] for call in calls] == ["cancelled", "cancelled", "cancelled", "ok"]
