"""A tool's result is recorded despite uploads, stops and the end of an executor."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from parley.events import Due, SessionEvent, facts
from parley.events.values import ActionSpec, Artefact, Effect, SessionSettings, content_hash
from parley.protocol.tools import ToolSpec
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared import logging
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.llm import ScriptedModel
from shared.logging import keep_secret
from shared.settings import Settings
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, Worker, WorkerDeps

NO_APPROVALS = SessionSettings(approval="never")


class Gate:
    """A point where code waits until the test lets it pass."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def passes(self) -> None:
        self.reached.set()
        await self.opened.wait()


class GatedLog(InMemoryLog):
    """An in-memory log that holds the first event of a type before or after it is stored."""

    def __init__(self, before: str = "", after: str = "") -> None:
        super().__init__()
        self.gate = Gate()
        self._before, self._after = before, after

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if event.type == self._before:
            self._before = ""
            await self.gate.passes()
        position = await super().append(event, after=after, due=due)
        if event.type == self._after:
            self._after = ""
            await self.gate.passes()
        return position


class GatedObjectStore:
    def __init__(self) -> None:
        self.gate, self.stored = Gate(), b""

    async def keep(self, name: str, data: bytes) -> Artefact:
        await self.gate.passes()
        self.stored = data
        return Artefact(name=name, size=len(data), sha256=content_hash(data.decode()))


class Bench:
    """A session whose executor is due, with a worker for it."""

    def __init__(self, *actions: ActionSpec, value: Any = "paid", log: GatedLog | None = None) -> None:
        self.log, self.objects = log or GatedLog(), GatedObjectStore()
        self.store = InMemoryStore(self.log)
        self.story = Story("s", log=self.log)
        self.calls: list[str] = []
        self.hold: Gate | None = None
        self._actions, self._value = actions, value
        tools = [self._tool(action.tool, action.effect) for action in actions]
        self._executor = Executor(Registry(StaticSource(*tools)), self.objects)
        self.worker = self.another()
        self._work = 0

    def _tool(self, name: str, effect: Effect) -> RegisteredTool:
        async def run(call: ToolInvocation) -> ToolResult:
            self.calls.append(call.key)
            if self.hold:
                await self.hold.passes()
            return ToolResult(ok=True, value=self._value)

        return RegisteredTool(ToolSpec(name=name, description="", parameters={}, effect=effect), run)

    def another(self) -> Worker:
        """A second executor's worker, as after the end of the first."""
        deps = WorkerDeps("executor", self.store, self.log, ScriptedModel(), Drafts(None), Settings())
        return Worker(deps, self._executor.run_batch)

    async def due(self) -> None:
        """Record the request and its turn, so that the executor is due."""
        await self.story.commit(c.Say(text="Pay", workflow="agentflow", settings=NO_APPROVALS))
        await self.story.commit(c.PlanTurn(sub_goal="pay", actions=self._actions))
        self._work = self.log.last("s")

    def deliver(self, worker: Worker | None = None, number: int = 1) -> asyncio.Task[None]:
        raw = next(raw for raw in self.log.messages if raw.position == self._work)
        delivery = Delivery(raw.subject, raw.data, raw.position, number, raw.headers, raw.at)
        return asyncio.create_task((worker or self.worker).on_delivery(delivery))

    async def stop(self) -> None:
        """The user presses stop, and the executor receives it."""
        await self.story.commit(c.Stop())
        raw = self.log.messages[-1]
        await self.worker.on_stopped(f"feed.{raw.subject.removeprefix('session.')}", raw.data)

    async def finished(self) -> list[facts.ActionsFinished]:
        return [event for event in await self.store.events("s") if isinstance(event, facts.ActionsFinished)]

    async def event_types(self) -> Sequence[str]:
        return [event.type for event in await self.store.events("s")][2:]

    async def statuses(self) -> list[str]:
        session = await self.story.load()
        return [action.status for action in session.turn.actions] if session.turn else []


def action(number: int = 1, effect: Effect = "irreversible") -> ActionSpec:
    return ActionSpec(id=f"1.{number}", tool=f"tool_{number}", effect=effect)


@pytest.mark.parametrize("effect", ["irreversible", "read"])
async def test_a_stop_during_the_upload_does_not_lose_the_result(effect: Effect) -> None:
    bench = Bench(action(effect=effect), value="x" * 60_000)
    await bench.due()
    work = bench.deliver()
    await bench.objects.gate.reached.wait()
    assert await bench.event_types() == ["actions.started", "actions.finished"], (
        "the outcome is recorded before the upload"
    )
    await bench.stop()
    bench.objects.gate.opened.set()
    await work
    assert await bench.event_types() == ["actions.started", "actions.finished", "session.stopped", "result.stored"]
    assert await bench.statuses() == ["finished"]
    assert (await bench.story.commit(c.Retry())).phase == "verifying"
    assert bench.calls == ["s/1/1.1/1"]


@pytest.mark.parametrize("effect", ["irreversible", "read"])
async def test_a_stop_before_the_first_call_prevents_the_call(effect: Effect) -> None:
    bench = Bench(action(effect=effect), log=GatedLog(after="actions.started"))
    await bench.due()
    work = bench.deliver()
    await bench.log.gate.reached.wait()
    await bench.stop()
    bench.log.gate.opened.set()
    await work
    assert (bench.calls, await bench.statuses()) == ([], ["failed"])
    session = await bench.story.load()
    assert session.turn is not None
    assert session.turn.actions[0].cause == "stopped"


async def kill_at(bench: Bench, gate: Gate) -> None:
    """Deliver the work to an executor and kill it at this gate, before it acknowledges the message."""
    other_tasks = asyncio.all_tasks()
    bench.deliver()
    await gate.reached.wait()
    while worker_tasks := asyncio.all_tasks() - other_tasks:
        for task in worker_tasks:
            task.cancel()
        await asyncio.sleep(0)


@pytest.mark.parametrize(("effect", "expected"), [("irreversible", "uncertain"), ("read", "failed")])
async def test_after_a_crash_and_a_stop_a_write_is_uncertain_and_a_read_failed(effect: Effect, expected: str) -> None:
    bench = Bench(action(effect=effect))
    bench.hold = Gate()
    await bench.due()
    await kill_at(bench, bench.hold)
    await bench.story.commit(c.Stop())
    assert await bench.statuses() == ["started"]
    await bench.deliver(bench.another(), number=2)
    assert (await bench.event_types())[-1] == "action.uncertain"
    assert await bench.statuses() == [expected]
    await bench.deliver(bench.another(), number=3)
    assert (await bench.event_types()).count("action.uncertain") == 1


async def test_a_crash_during_the_upload_loses_the_full_result_only() -> None:
    """The outcome stays recorded, with and without a stop afterwards."""
    for stopped in (False, True):
        bench = Bench(action(), value="x" * 60_000)
        await bench.due()
        await kill_at(bench, bench.objects.gate)
        if stopped:
            await bench.story.commit(c.Stop())
        await bench.deliver(bench.another(), number=2)
        assert (await bench.event_types())[-1] == "result.lost"
        assert await bench.statuses() == ["finished"]
        assert (await bench.story.load()).phase == ("resting" if stopped else "verifying")


async def test_writes_that_were_never_called_are_not_uncertain_after_a_crash() -> None:
    bench = Bench(*map(action, range(1, 4)))
    bench.hold = Gate()
    await bench.due()
    work = bench.deliver()
    await bench.hold.reached.wait()
    work.cancel()
    bench.hold.opened.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert bench.calls == ["s/1/1.1/1"]
    assert await bench.statuses() == ["finished", "failed", "failed"]
    outcomes = [outcome for event in await bench.finished() for outcome in event.outcomes]
    assert [(outcome.error, outcome.cause) for outcome in outcomes[1:]] == [(wording.LEFT_BEFORE, None)] * 2


async def test_the_full_result_is_stored_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "_known", set())
    keep_secret(["s3cr3t-of-the-shop"])
    bench = Bench(action(), value="s3cr3t-of-the-shop " * 5_000)
    bench.objects.gate.opened.set()
    await bench.due()
    await bench.deliver()
    assert (await bench.event_types())[-1] == "result.stored"
    assert b"*** ***" in bench.objects.stored
    assert b"s3cr3t" not in bench.objects.stored


@pytest.mark.parametrize("value", ["x" * 47_000, "語" * 15_600], ids=["ASCII", "three bytes a character"])
async def test_outcomes_are_split_over_events_by_size(value: str) -> None:
    reads = tuple(action(number, "read") for number in range(1, 9))
    bench = Bench(*reads, value=value, log=GatedLog(before="actions.finished"))
    await bench.due()
    work = bench.deliver()
    await bench.log.gate.reached.wait()
    await asyncio.sleep(0)
    bench.log.gate.opened.set()
    await work
    assert [len(event.outcomes) for event in await bench.finished()] == [1, 5, 2]
    assert set(await bench.statuses()) == {"finished"}


@pytest.mark.parametrize("value", ["\ud800", json.loads("[" * 190 + "]" * 190)], ids=["text", "depth"])
async def test_a_result_that_no_event_can_hold_keeps_its_outcome(value: Any) -> None:
    bench = Bench(*(action(number, "read") for number in range(1, 4)), value=value)
    await bench.due()
    await bench.deliver()
    outcomes = [outcome for event in await bench.finished() for outcome in event.outcomes]
    assert [(outcome.ok, outcome.result) for outcome in outcomes] == [(True, None)] * 3
    assert all("cannot be kept" in outcome.error for outcome in outcomes)
