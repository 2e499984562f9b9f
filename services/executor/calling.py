"""One call of a tool, within its deadline, with one outcome whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from services.executor.tools import RegisteredTool, Result
from shared.domain import wording
from shared.domain.errors import Refused
from shared.llm import ModelError
from shared.log import LogDown, UpgradeNeeded
from shared.telemetry import metrics, names, tracing
from shared.worker import BudgetExceeded

log = structlog.get_logger("executor")


async def bounded(tool: RegisteredTool, run: Callable[[], Awaitable[Result]]) -> Result:
    """The call within its deadline, and seen from outside; never what it was given, or what it gave."""
    name = tool.spec.name
    attributes = {names.OPERATION: "execute_tool", names.TOOL: name, names.EFFECT: tool.spec.effect}
    with (
        metrics.timed(metrics.TOOL, "cancelled", tool=name) as timing,
        tracing.within(f"execute_tool {name}", attributes=attributes) as span,
    ):
        result = await within_deadline(tool, run)
        timing.outcome = "ok" if result.ok else "unknown" if result.unknown else "error"
        if not result.ok:
            span.fail(timing.outcome)
    return result


async def within_deadline(tool: RegisteredTool, run: Callable[[], Awaitable[Result]]) -> Result:
    """What became of the call. Only a read, or a write that knows its key, is known not to have been lost."""
    for last in (False, True):
        try:
            async with asyncio.timeout(tool.seconds):
                return await run()
        except TimeoutError:
            if last or not tool.spec.keyed:
                break  # with its key, a write is asked once more what became of it
        except BudgetExceeded:
            metrics.BUDGET_EXCEEDED.labels("executor").inc()
            return Result(ok=False, error=wording.OUT_OF_BUDGET, unknown=tool.spec.effect != "read", cause="budget")
        except (ModelError, Refused, LogDown, UpgradeNeeded):
            raise  # a model or a log that is away, a stop: not the tool's, and the worker knows what to do
        except (Exception, SystemExit) as error:  # also a plug-in that means to end the program
            log.exception("tool_failed", tool=tool.spec.name)
            return Result(ok=False, error=f"{type(error).__name__}: {error}"[:2000], unknown=tool.spec.effect != "read")
    why = f"{tool.spec.name} did not answer within {tool.seconds:g} seconds."
    return Result(ok=False, error=why, unknown=tool.spec.effect != "read", cause="timeout")
