"""The executor: batches of calls, deadlines, stops, crashes, and large results."""

import asyncio

import pytest

from parley.events import facts
from parley.events.values import Effect
from services.executor.tools import ToolInvocation, ToolResult
from tests.support.executor_bench import ArtefactDict, ExecutorBench, act, failing, hanging, returning, tool
from tests.support.timeouts import WAIT_TIMEOUT

# --- outcomes


async def test_every_action_has_one_outcome() -> None:
    bench = ExecutorBench(
        act("good"),
        act("bad", 2),
        act("none", 3),
        tools=(tool("good", returning()), tool("bad", failing(OSError("full")))),
    )
    started, *ended = [event.type for event in await bench.run()]
    assert (started, set(ended)) == ("actions.started", {"actions.finished"})
    result = bench.outcomes()
    assert set(result) == {"1.1", "1.2", "1.3"}
    assert (result["1.1"].ok, result["1.1"].result) == (True, "seen")
    assert (result["1.2"].ok, result["1.2"].error) == (False, "OSError: full")
    assert result["1.3"].error == "There is no tool “none”."


async def test_reads_run_concurrently() -> None:
    barrier = asyncio.Barrier(3)

    async def meets(_: ToolInvocation) -> ToolResult:
        await asyncio.wait_for(barrier.wait(), WAIT_TIMEOUT)
        return ToolResult(ok=True)

    bench = ExecutorBench(*(act("meet", n) for n in (1, 2, 3)), tools=(tool("meet", meets),))
    await bench.run()
    assert all(outcome.ok for outcome in bench.outcomes().values())


# --- deadlines and uncertain outcomes


@pytest.mark.parametrize(("effect", "kind"), [("read", "actions.finished"), ("write", "action.uncertain")])
async def test_a_tool_that_hangs_is_abandoned_at_its_deadline(effect: Effect, kind: str) -> None:
    bench = ExecutorBench(act("hang", 1, effect), tools=(tool("hang", hanging, effect, seconds=0.05),))
    assert (await bench.run())[-1].type == kind
    result = bench.outcomes()["1.1"]
    assert "did not answer within 0.05 seconds" in (result.error if kind == "actions.finished" else result.reason)


async def test_a_keyed_write_that_times_out_is_called_again_with_the_same_key() -> None:
    calls: list[str] = []

    async def slow_once(call: ToolInvocation) -> ToolResult:
        calls.append(call.key)
        if len(calls) == 1:
            await hanging(call)
        return ToolResult(ok=True, value="done")

    bench = ExecutorBench(
        act("keyed", 1, "write"), tools=(tool("keyed", slow_once, "write", keyed=True, seconds=0.05),)
    )
    await bench.run()
    assert calls == ["s/1/1.1/1"] * 2
    assert bench.outcomes()["1.1"].result == "done"


@pytest.mark.parametrize(
    ("effect", "keyed", "kind"),
    [
        ("read", False, "actions.finished"),
        ("write", True, "actions.finished"),
        ("write", False, "action.uncertain"),
        ("irreversible", False, "action.uncertain"),
    ],
)
async def test_actions_that_were_running_when_the_executor_crashed(effect: Effect, keyed: bool, kind: str) -> None:
    """Reads and keyed writes run again. The outcome of other writes is uncertain."""
    ran: list[str] = []

    async def runs(call: ToolInvocation) -> ToolResult:
        ran.append(call.key)
        return ToolResult(ok=True, value=1)

    bench = ExecutorBench(act("run", 1, effect, "started"), tools=(tool("run", runs, effect, keyed=keyed),))
    assert [event.type for event in await bench.run()] == [kind]
    assert len(ran) == (kind == "actions.finished")


# --- stop


async def test_a_stop_waits_for_the_running_write_and_reports_the_other_actions() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def writes(_: ToolInvocation) -> ToolResult:
        started.set()
        await go.wait()
        return ToolResult(ok=True, value="written")

    writer = tool("write", writes, "write")
    bench = ExecutorBench(
        act("write", 1, "write"), act("write", 2, "write"), act("look", 3), tools=(writer, tool("look", hanging))
    )
    running = asyncio.create_task(bench.run())
    await started.wait()
    bench.context.stopped = True
    running.cancel()
    while "1.3" not in bench.outcomes():  # noqa: ASYNC110  an in-memory log has no notifications
        await asyncio.sleep(0)
    assert not running.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    result = bench.outcomes()
    assert (result["1.1"].ok, result["1.1"].result) == (True, "written")
    assert (result["1.2"].ok, result["1.2"].error) == (False, "Stopped by the person before it was run.")
    assert (result["1.3"].ok, result["1.3"].error) == (False, "Stopped by the person.")


async def test_an_executor_that_shuts_down_reports_its_writes_and_leaves_keyed_ones() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def writes(_: ToolInvocation) -> ToolResult:
        started.set()
        await go.wait()
        return ToolResult(ok=True)

    keyed = tool("keyed", returning("again"), "write", keyed=True)
    actions = (act("write", 1, "write"), act("write", 2, "write"), act("keyed", 3, "write"))
    bench = ExecutorBench(*actions, tools=(tool("write", writes, "write"), keyed))
    running = asyncio.create_task(bench.run())
    await started.wait()
    running.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list(bench.outcomes()) == ["1.1", "1.2"], "the next executor may run the third again"


# --- size


async def test_a_large_result_that_cannot_be_stored_is_reported_as_lost() -> None:
    bench = ExecutorBench(
        act("talk"), tools=(tool("talk", returning("x" * 1_000_000)),), artefacts=ArtefactDict("no room")
    )
    _, _, lost = await bench.run()
    assert isinstance(lost, facts.ResultLost)
    assert lost.reason == "Only the beginning of its 1000000 bytes is here: no room"
    (action,) = bench.context.session.turn.actions if bench.context.session.turn else ()
    assert (action.status, action.artefact, action.error) == ("finished", None, lost.reason)
