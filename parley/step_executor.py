"""Step executors run steps of execution plans in place of their tools.

A step executor is a Python module with a subclass of `StepExecutor`:

    class Jobs(StepExecutor):
        tools = ("rebuild_*",)

        async def run(self, step, resolved, key, context):
            job = await my_queue.submit(step.tool, resolved, key)
            return Result({"job": job.id})

Parley finds it by the entry point group `parley.step_executors` of an installed package, and loads it only if
PARLEY_STEP_EXECUTORS lists its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol.tools import ToolSpec
from parley.tool import Context


@dataclass(frozen=True)
class Result:
    """The result of a step. `value` is JSON-serializable; later steps refer to it.

    A step that is not `ok` has failed without changing anything, and may be retried; `error` tells the user why.
    `unknown`: it is not known whether the step took effect, so the user is asked before a retry.
    """

    value: object = None
    ok: bool = True
    error: str = ""
    unknown: bool = False


@dataclass(frozen=True, kw_only=True)
class StepContext(Context):
    """What a step knows of its session and plan, in addition to a tool call's context.

    `goal` and `steps` are the plan's, with unresolved references. `attempt` counts from 1; another attempt follows a
    definite failure. `tool` is the specification of the step's tool.

    `run_tool` runs the tool itself, with exactly the approved arguments and the tool's own deadline. It does not raise
    if the tool fails: the result says so. A tool that changes something runs once per step. Only a keyed tool may be
    run by a keyed executor, or run again; otherwise `run_tool` raises `Failed`.
    """

    goal: str
    steps: tuple[Step, ...]
    attempt: int
    tool: ToolSpec
    run_tool: Callable[[], Awaitable[Result]]


class StepExecutor(ABC):
    """Runs steps of execution plans in place of their tools.

    The tools' schemas, effects, policies and rules still decide what is in a plan, what the user approves, and when a
    step starts. An executor decides only how a step is carried out.

    `tools` are names or `fnmatch` patterns: `("*",)` takes every step. If two executors match a tool, the one that the
    settings list first runs it.

    `keyed`: `run` stores the key with its effect, so that it may be called again with the same key after a crash.
    Without it, a change that was running when its process ended is never repeated; the user is asked what happened.
    A read may be repeated at any time. `seconds` is the deadline of a step; None means that of its tool.
    """

    tools: tuple[str, ...] = ()
    keyed: bool = False
    seconds: float | None = None

    async def open(self, settings: Any) -> None:  # noqa: B027  optional
        """Prepare for steps, once in each executor process. `settings` are Parley's own (shared.settings).

        The executor retries it while it raises `ToolUnavailable`. After any other exception the steps that it would run
        fail with the reason; their tools are not run instead.
        """

    async def close(self) -> None:  # noqa: B027
        """Release what `open` opened. Not called if `open` raised."""

    @abstractmethod
    async def run(self, step: Step, resolved: Mapping[str, JsonValue], key: str, context: StepContext) -> Result:
        """Carry out one step of an approved plan.

        `resolved` are its arguments with references replaced by values. `key` is the same whenever this attempt is
        repeated: `<session>/<task>.<step>/<attempt>`.

        Raise `parley.Failed` or `parley.Refused` for a failure that changed nothing. After any other exception, a
        timeout, or a return value that is not a `Result`, the outcome of a change is unknown.
        """
