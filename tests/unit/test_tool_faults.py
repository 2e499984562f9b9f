"""Tools that raise what is no ordinary exception, and results with numbers that JSON cannot express."""

import asyncio
import math
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from packs.http.body import UnreadableContent, decode_content, read_content
from packs.program.pack import _value
from parley.events.values import Effect
from parley.protocol.tools import ToolSpec
from services.executor.outcomes import with_json_value
from services.executor.tools import RegisteredTool, ToolResult, new_task, run_within_deadline
from shared.repair.values import decoded
from shared.sandbox import remove_abandoned, scratch


class Odd(BaseException):
    """An exception that neither Parley nor Python knows."""


async def outcome(run: Callable[..., Awaitable[ToolResult]], effect: Effect = "read") -> ToolResult:
    spec = ToolSpec(name="odd", description="", parameters={}, effect=effect, origin="test")
    return await run_within_deadline(RegisteredTool(spec, run), run)


async def outcome_of(fault: BaseException, effect: Effect = "read") -> ToolResult:
    async def run(*_: object) -> ToolResult:
        raise fault

    return await outcome(run, effect)


@pytest.mark.parametrize(
    "fault",
    [
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        SystemExit(3),
        GeneratorExit(),
        Odd("strange"),
        BaseExceptionGroup("two", [asyncio.CancelledError(), KeyboardInterrupt()]),
        ExceptionGroup("one", [ValueError()]),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_whatever_a_tool_raises_is_its_outcome(fault: BaseException) -> None:
    result = await outcome_of(fault)
    assert (result.ok, result.unknown, result.cause) == (False, False, None)
    assert result.error.startswith(type(fault).__name__)
    assert (await outcome_of(fault, "write")).unknown


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task
    task.cancel()
    await asyncio.sleep(60)


async def exits_in_an_inner_task(fault: BaseException) -> None:
    async def inner() -> None:
        raise fault

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(inner())
        await asyncio.sleep(60)


async def fails_before_an_inner_task_begins() -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(asyncio.sleep(60))
        raise OSError("full")


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (cancels_itself, "CancelledError"),
        (lambda: exits_in_an_inner_task(SystemExit(3)), "unhandled errors in a TaskGroup"),
        (lambda: asyncio.gather(exits_in_an_inner_task(KeyboardInterrupt())), "unhandled errors in a TaskGroup"),
        (lambda: asyncio.gather(asyncio.to_thread(sys.exit, 3)), "RuntimeError: SystemExit: 3"),
        (fails_before_an_inner_task_begins, "unhandled errors in a TaskGroup"),
    ],
    ids=["cancels itself", "exits", "interrupts", "exits in a thread", "not begun"],
)
async def test_what_a_tool_does_to_its_tasks_ends_its_call_alone(odd: Callable[[], Awaitable[Any]], words: str) -> None:
    async def run(*_: object) -> ToolResult:
        await odd()
        raise AssertionError

    asyncio.get_running_loop().set_task_factory(new_task)
    assert words in (await outcome(run)).error
    assert (await outcome(run, "write")).unknown


async def test_a_cancelled_inner_task_fails_the_call_and_a_stop_still_ends_it() -> None:
    spec = ToolSpec(name="odd", description="", parameters={}, effect="read", origin="test")
    begun = asyncio.Event()

    async def cancelled_inside() -> ToolResult:
        inner = asyncio.create_task(asyncio.sleep(60))
        inner.cancel()
        await inner
        raise AssertionError

    async def long() -> ToolResult:
        begun.set()
        await asyncio.sleep(60)
        raise AssertionError

    tool = RegisteredTool(spec, lambda _: cancelled_inside())
    assert not (await run_within_deadline(tool, cancelled_inside)).ok
    late = await run_within_deadline(tool._replace(timeout=0.01), long)
    assert (late.ok, late.error) == (False, "odd did not answer within 0.01 seconds.")
    task = asyncio.create_task(run_within_deadline(tool, long))
    begun.clear()
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_of_the_tools_own_is_told_in_its_words() -> None:
    async def refused() -> ToolResult:
        raise TimeoutError("The printer is asleep.")

    failed = await outcome(refused, "write")
    assert (failed.error, failed.unknown, failed.cause) == ("TimeoutError: The printer is asleep.", True, None)


class Measured(BaseModel):
    value: float


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, {"a": [1, {"b": math.inf}]}, [math.nan], Measured(value=math.inf)], ids=str
)
def test_a_result_with_a_number_that_is_not_finite_cannot_be_kept(value: Any) -> None:
    read = with_json_value(ToolResult(ok=True), value, "read")
    assert (read.ok, read.value) == (False, None)
    assert read.error == "The result cannot be kept: it has a number that is not finite"
    assert with_json_value(ToolResult(ok=True), value, "write").ok


@pytest.mark.parametrize("text", ["1e999", "-1e999", "[1e400]", '{"a": 1e999}', "NaN", '{"a": [Infinity]}'])
def test_json_with_a_number_that_is_not_finite_stays_text(text: str) -> None:
    assert _value(text) == decoded(text) == text
    content = decode_content(text.encode(), "application/json")
    assert (content.data, content.text) == (None, text)


class Pieces:
    """A response that arrives in pieces of one byte."""

    headers: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces

    async def aiter_raw(self) -> Any:
        for _ in range(self._pieces):
            yield b"x"


async def test_a_response_in_very_many_pieces_is_refused_and_lets_other_tasks_run() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    assert len(await read_content(Pieces(20_000), 2_000_000)) == 20_000  # type: ignore[arg-type]
    assert turns >= 100
    with pytest.raises(UnreadableContent, match="more than 50,000 pieces"):
        await read_content(Pieces(60_000), 2_000_000)  # type: ignore[arg-type]
    counting.cancel()


def test_only_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "program-mine").mkdir()
    (tmp_path / "program-mine" / "a").touch()
    (tmp_path / "program-link-parley").symlink_to(tmp_path / "program-mine")
    (tmp_path / "program-new-parley").mkdir()
    with scratch.folder({"program.py": "1"}, owner=0) as running:
        child = os.fork()
        if child == 0:
            with scratch.folder({"program.py": "2"}, owner=0):
                os.kill(os.getpid(), 9)
        os.waitpid(child, 0)
        assert remove_abandoned() == 1
        assert running.exists()
        assert (tmp_path / "program-mine" / "a").exists()
    assert remove_abandoned() == 0
    assert not running.exists()
