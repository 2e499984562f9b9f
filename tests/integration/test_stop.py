"""A stop in each phase: the session rests at once, no further work begins, and a retry resumes the phase."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from parley.events import facts
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.settings import Settings
from tests.e2e.parley_process import descendants
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.stack import working
from tests.support.timeouts import WAIT_TIMEOUT
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
    """Shows whether a program runs in the sandbox: such programs are descendants of this process."""

    def __init__(self) -> None:
        self._before = set(descendants(os.getpid()))

    async def runs(self, condition: bool) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while bool(set(descendants(os.getpid())) - self._before) is not condition:  # noqa: ASYNC110  a process sends no event
                await asyncio.sleep(0.02)


async def stop_work(person: Watcher, server: RehearsalServer) -> Session:
    """Stop, and check that no model call begins afterwards and that the cost of those under way is recorded."""
    stop = await person.does(c.Stop())
    calls = await server.wait_for_calls(lambda calls: all(call["outcome"] != "running" for call in calls))
    session = await person.sees(lambda s: s.spent.calls == len(calls))
    assert (session.phase, session.rest_reason) == ("resting", "stopped")
    assert all(call["at"] < stop.at.timestamp() + 0.1 for call in calls)
    return session


async def stop_drafting(person: Watcher, server: RehearsalServer, task: str) -> None:
    """Stop while the model writes, and check that the call is cancelled and its estimated cost recorded."""
    session = await stop_work(person, server)
    call = (await server.calls())[-1]
    assert (call["task"], call["outcome"]) == (task, "cancelled")
    recorded = (await person.events())[-1]
    assert isinstance(recorded, facts.UsageRecorded)
    assert recorded.version == session.version
    assert [(call.outcome, call.estimated) for call in recorded.usage[-1:]] == [("cancelled", True)]


async def draft_code(person: Watcher) -> None:
    await person.does(c.Say(text=REQUEST))
    await person.phase("awaiting_approval")
    await person.approves()
    await person.sees(in_review(1))


async def test_a_stop_during_plan_drafting(server: RehearsalServer, person: Watcher) -> None:
    await server.fault(task="text_plan", token_delay=0.5, times=1)
    await person.does(c.Say(text=REQUEST))
    await person.drafting("plan")
    await stop_drafting(person, server, "text_plan")
    await person.does(c.Retry())
    await person.phase("awaiting_approval")
    assert await person.event_types() == ["message.received", "session.stopped", "session.retried", "plan.drafted"]


async def test_a_stop_during_code_and_test_drafting(server: RehearsalServer, person: Watcher) -> None:
    await person.does(c.Say(text=REQUEST))
    await person.phase("awaiting_approval")
    await server.fault(task="code", token_delay=0.5, times=1)
    await server.fault(task="tests", token_delay=0.5, times=1)
    await person.approves()
    await person.drafting("code")
    await stop_drafting(person, server, "code")
    await person.does(c.Retry())
    await person.drafting("tests")
    await stop_drafting(person, server, "tests")
    await person.does(c.Retry())
    session = await person.sees(in_review(1))
    assert session.code
    assert [check.ok for check in session.code.checks] == [True, True, True]


async def test_a_stop_during_the_tests(server: RehearsalServer, person: Watcher) -> None:
    await draft_code(person)
    sandbox = Sandbox()
    await server.fault(task="tests", latency=0.5, times=1)  # so the linter, also a process, has ended by then
    await person.edits(SLOW_IMPORT)
    await server.wait_for_calls(lambda calls: len(calls) == 4)
    await sandbox.runs(False)
    await sandbox.runs(True)
    await stop_work(person, server)
    await sandbox.runs(False)
    await person.does(c.Retry())
    session = await person.sees(in_review(2))
    assert session.code
    assert session.code.checks[-1].name == "tests"


async def test_a_stop_during_the_run_and_during_its_verification(server: RehearsalServer, person: Watcher) -> None:
    await draft_code(person)
    await person.edits(SLOW_IMPORT)
    await person.sees(in_review(2))
    await person.approves()
    sandbox = Sandbox()
    await person.does(c.Run())
    await sandbox.runs(True)
    await stop_work(person, server)
    await sandbox.runs(False)
    session = await person.sees(lambda s: s.turn is not None and s.turn.actions[0].status == "failed")
    assert session.phase == "resting"
    assert session.turn
    assert session.turn.actions[0].error == "Stopped by the person."

    await server.fault(task="verdict", token_delay=0.5, times=1)
    await person.does(c.Retry())
    await person.drafting("verdict")
    await stop_drafting(person, server, "verdict")
    await person.does(c.Retry())
    session = await person.sees(lambda s: s.turn is None or s.turn.verdict is not None)
    assert session.failure is None


async def test_stops_and_retries_faster_than_the_work_ends_draft_one_plan(
    server: RehearsalServer, person: Watcher
) -> None:
    await server.fault(task="text_plan", token_delay=0.5, times=3)
    await person.does(c.Say(text=REQUEST))
    for _ in range(3):
        await person.drafting("plan")
        await person.does(c.Stop())
        await person.does(c.Retry())
    session = await person.phase("awaiting_approval")
    assert session.counts.plans == 1
    calls = await server.wait_for_calls(lambda calls: all(call["outcome"] != "running" for call in calls))
    assert [call["outcome"] for call in calls] == ["cancelled", "cancelled", "cancelled", "ok"]
