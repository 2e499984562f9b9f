"""A step executor runs steps of execution plans in place of their tools: what it may know, and what it returns.

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
    """What came of a step. `value` is anything that JSON can tell: later steps refer to it.

    A step that is not `ok` has failed and changed nothing, and may be tried again; `error` tells people why. `unknown`:
    nobody can tell whether it took effect, so a person is asked before it is tried again.
    """

    value: object = None
    ok: bool = True
    error: str = ""
    unknown: bool = False


@dataclass(frozen=True, kw_only=True)
class StepContext(Context):
    """What a step may know of its session and plan, besides what a call of a tool may know.

    `goal` and `steps` are those of the plan, with references as they are written. `attempt` counts from 1; another
    attempt follows a definite failure. `tool` is what is known of the step's tool.

    `run_tool` runs the tool itself, with exactly the arguments that were approved, within the tool's own deadline. It
    does not raise when the tool fails: the result says so. A tool that changes something runs once for a step. Only
    a keyed tool may be run by a keyed executor, or run again. Otherwise `run_tool` raises `Failed`.
    """

    goal: str
    steps: tuple[Step, ...]
    attempt: int
    tool: ToolSpec
    run_tool: Callable[[], Awaitable[Result]]


class StepExecutor(ABC):
    """Runs the steps of execution plans whose tools have one of these names, instead of the tools themselves.

    The tools stay what they are: their schemas, effects, policies and rules decide what is in a plan, what a person is
    asked, and when a step begins. An executor decides only how a step is carried out.

    `tools` are names, or patterns as in `fnmatch`: `("*",)` takes every step. Of two executors for one tool, the one
    that the settings name first runs it.

    `keyed`: `run` remembers the key with its effect, so that it may be called again with the same key after a crash.
    Without it, a change that was under way when its process ended is never repeated; a person is asked what happened.
    A read may be run again at any time. `seconds` is the deadline of a step; None: that of its tool.
    """

    tools: tuple[str, ...] = ()
    keyed: bool = False
    seconds: float | None = None

    async def open(self, settings: Any) -> None:  # noqa: B027  there may be nothing to open
        """Make ready for steps, once in each executor process. `settings` are Parley's own (shared.settings).

        It is tried again while it raises `Unavailable`. After any other exception the steps that it would run fail,
        with the reason; their tools are not run instead.
        """

    async def close(self) -> None:  # noqa: B027
        """Release what `open` opened. Not called if `open` raised."""

    @abstractmethod
    async def run(self, step: Step, resolved: Mapping[str, JsonValue], key: str, context: StepContext) -> Result:
        """Carry out one step of an approved plan.

        `resolved` are its arguments, with the values that its references stand for. `key` is the same whenever this
        attempt is made again: `<session>/<task>.<step>/<attempt>`.

        Raise `parley.Failed` or `parley.Refused` for what failed and changed nothing. After any other exception, a
        deadline, or something returned that is no `Result`, nobody knows whether a change took effect.
        """
