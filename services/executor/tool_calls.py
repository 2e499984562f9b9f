"""One call of a tool: a deadline, metrics, and exactly one result."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import structlog

from services.executor.tools import RegisteredTool, ToolResult
from shared.domain import wording
from shared.domain.errors import CommandRefused
from shared.llm import ModelError
from shared.log import LogUnavailable, UpgradeNeeded
from shared.telemetry import metrics, tracing
from shared.worker import BudgetExceeded

log = structlog.get_logger("executor")
_in_tool = ContextVar("in_tool", default=False)


async def call_with_timeout(tool: RegisteredTool, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """Run the call within its deadline, with a metric and a span. Neither records arguments or results.

    However a call ends, its result says whether its pack tells whom calls are about.
    """
    name = tool.spec.name
    attributes = {tracing.OPERATION: "execute_tool", tracing.TOOL: name, tracing.EFFECT: tool.spec.effect}
    with (
        metrics.timed(metrics.TOOL, "cancelled", tool=name) as timing,
        tracing.child_span(f"execute_tool {name}", attributes=attributes) as span,
    ):
        result = await run_within_deadline(tool, run)
        timing.outcome = "ok" if result.ok else "unknown" if result.unknown else "error"
        if not result.ok:
            tracing.fail(span, timing.outcome)
    return result._replace(subject="") if tool.subject and result.subject is None else result


async def run_within_deadline(tool: RegisteredTool, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """The result of the call. A failed write is `unknown`; a keyed write that times out is called once more."""
    for last in (False, True):
        try:
            async with asyncio.timeout(tool.timeout) as deadline:
                # In a task of its own, so that a tool that cancels its task does not cancel the executor's.
                return await asyncio.create_task(_call(tool, run))
        except TimeoutError as error:
            if not last and tool.spec.keyed:
                continue  # repeating a keyed write returns its stored outcome
            if not deadline.expired():
                return _failed(tool, error)  # the tool's own
            break
        except BudgetExceeded:
            metrics.BUDGET_EXCEEDED.labels("executor").inc()
            return ToolResult(ok=False, error=wording.OUT_OF_BUDGET, unknown=tool.spec.effect != "read", cause="budget")
        except (ModelError, CommandRefused, LogUnavailable, UpgradeNeeded):
            raise  # not the tool's fault: the worker handles an unavailable model or log, and a stop
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            return _failed(tool, error)  # the tool was cancelled by its own code
        except Exception as error:  # also of plug-ins
            return _failed(tool, error)
    why = f"{tool.spec.name} did not answer within {tool.timeout:g} seconds."
    return ToolResult(ok=False, error=why, unknown=tool.spec.effect != "read", cause="timeout")


async def _call(tool: RegisteredTool, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    _in_tool.set(True)
    try:
        return await run()
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:  # such as SystemExit, with which asyncio would end the process
        return _failed(tool, error)


def _failed(tool: RegisteredTool, error: BaseException) -> ToolResult:
    log.error("tool_failed", tool=tool.spec.name, exc_info=error)
    return ToolResult(ok=False, error=_words(error)[:2000], unknown=tool.spec.effect != "read")


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def new_task(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    """A task factory: SystemExit or KeyboardInterrupt in a task that a tool starts fails that task, not the process."""

    async def contained() -> Any:
        try:
            return await work
        except (SystemExit, KeyboardInterrupt) as error:
            raise RuntimeError(_words(error)) from error

    if not _in_tool.get():
        return asyncio.Task(work, loop=loop, **options)
    task = asyncio.Task(contained(), loop=loop, **options)
    task.add_done_callback(lambda _: work.close())  # never awaited if the task is cancelled before it begins
    return task
