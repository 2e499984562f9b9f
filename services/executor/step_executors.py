"""Step executors of installed packages: they run steps of plans in place of their tools. The settings list them."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

import structlog

from parley import Failed, ToolUnavailable
from parley.step_executor import Result as StepResult
from parley.step_executor import StepContext, StepExecutor
from services.executor.outcomes import with_json_value
from services.executor.session_files import CallFiles, ObjectStore
from services.executor.sources.loading import open_plugins
from services.executor.sources.packs import context_of
from services.executor.tools import RegisteredTool, ToolInvocation, ToolResult, run_within_deadline
from shared.domain.steps.plan_steps import step_of
from shared.logging import excerpt_of
from shared.plugins import load_named
from shared.retry import retry_while_unavailable
from shared.settings import Settings

log = structlog.get_logger("executor")
GROUP = "parley.step_executors"  # of entry points: a module, a subclass of StepExecutor, or an instance


class _Broken(NamedTuple):
    """A step executor that cannot be loaded or opened, and the tools whose steps fail because of it."""

    tools: Sequence[str]
    why: str


class StepExecutors:
    """The step executors with these names, in this order. `objects` stores the bytes of session files."""

    def __init__(self, names: Sequence[str] = (), objects: ObjectStore | None = None) -> None:
        self._objects = objects
        self._executors = {name: _load(name) for name in dict.fromkeys(names)}

    @property
    def troubles(self) -> tuple[str, ...]:
        return tuple(executor.why for executor in self._executors.values() if isinstance(executor, _Broken))

    async def open(self, settings: Settings, opened: AsyncExitStack) -> None:
        """Open each. While one is not open, the steps that it would run fail."""
        loaded = {name: executor for name, executor in self._executors.items() if not isinstance(executor, _Broken)}

        def report(name: str, error: BaseException | None) -> None:
            self._executors[name] = _broken(name, error, loaded[name].tools) if error else loaded[name]

        await open_plugins(loaded, settings, opened, report)

    def override(self, tools: Mapping[str, RegisteredTool]) -> Mapping[str, RegisteredTool]:
        """The tools as steps of a plan run them: replaced by a step executor where one matches."""
        return {name: self._overridden(tool) for name, tool in tools.items()} if self._executors else tools

    def _overridden(self, tool: RegisteredTool) -> RegisteredTool:
        for executor in self._executors.values():
            if any(fnmatchcase(tool.spec.name, pattern) for pattern in executor.tools):
                if isinstance(executor, _Broken):
                    return tool._replace(run=partial(_refuse, executor.why))
                spec = tool.spec.model_copy(update={"keyed": executor.keyed})
                timeout = executor.seconds or tool.timeout
                return tool._replace(spec=spec, run=partial(self._run, executor, tool), timeout=timeout)
        return tool

    async def _run(self, executor: StepExecutor, tool: RegisteredTool, call: ToolInvocation) -> ToolResult:
        step = step_of(call.session, call.action.spec.id) if call.action else None
        plan = call.session.plan
        if call.action is None or step is None or plan is None:
            return ToolResult(ok=False, error="This call is no step of the plan at hand.")
        call_context = context_of(call.session, call.key, self._objects)
        running = _RunningTool(executor, tool, call)
        context = StepContext(
            **vars(call_context),
            goal=plan.goal,
            steps=plan.steps,
            attempt=call.action.attempt,
            tool=tool.spec,
            run_tool=running,
        )
        run = retry_while_unavailable(ToolUnavailable)(executor.run) if _is_repeatable(executor, tool) else executor.run
        try:
            returned: object = await run(step, dict(call.arguments), call.key, context)
        except Failed as error:
            failed = ToolResult(ok=False, error=str(error), unknown=error.unknown)
            return with_json_value(failed, error.result, tool.spec.effect)
        if not isinstance(returned, StepResult):
            raise TypeError(f"{type(executor).__name__} returned {type(returned).__name__}, which is no Result.")
        result = ToolResult(bool(returned.ok), error=str(returned.error), unknown=bool(returned.unknown))
        own_files = call_context.files.changes if isinstance(call_context.files, CallFiles) else {}
        files = {**running.files, **own_files} if returned.ok else {}
        result = with_json_value(result, returned.value, tool.spec.effect)._replace(files=files)
        if tool.subject is None or not result.ok:
            return result
        return result._replace(subject=running.subject or tool.subject(call.arguments, result.value))


class _RunningTool:
    """`run_tool` of one step: calls the tool with the step's arguments and key."""

    def __init__(self, executor: StepExecutor, tool: RegisteredTool, call: ToolInvocation) -> None:
        self._executor = executor
        self._tool = tool
        self._call = call
        self._ran = False
        self.files = ToolResult(ok=True).files
        self.subject: str | None = None

    async def __call__(self) -> StepResult:
        tool = self._tool
        if not tool.is_repeatable and self._executor.keyed:
            raise Failed(f"{tool.spec.name} is not keyed, so a keyed executor cannot run it.")
        if not tool.is_repeatable and self._ran:
            raise Failed(f"{tool.spec.name} has run for this step, and may not run again.", unknown=True)
        self._ran = True
        result = await run_within_deadline(tool, lambda: tool.run(self._call))
        self.files, self.subject = result.files, result.subject
        return StepResult(result.value, result.ok, result.error, result.unknown)


def _is_repeatable(executor: StepExecutor, tool: RegisteredTool) -> bool:
    return executor.keyed or tool.spec.effect == "read"


async def _refuse(why: str, _: ToolInvocation) -> ToolResult:
    return ToolResult(ok=False, error=why)


def _load(name: str) -> StepExecutor | _Broken:
    try:
        executor = load_named(GROUP, name, StepExecutor)  # type: ignore[type-abstract]  # of which it is none
        tools: object = executor.tools  # a stranger's
        if not isinstance(tools, tuple) or not tools or not all(isinstance(tool, str) for tool in tools):
            raise TypeError("its `tools` must be a tuple of names or patterns, with one at least")
    except (Exception, SystemExit) as error:
        return _broken(name, error, ("*",))
    return executor


def _broken(name: str, error: BaseException, tools: Sequence[str]) -> _Broken:
    why = (
        f"The step executor {name} cannot be used: {type(error).__name__}: {error}. "
        "Put it right, or take it out of PARLEY_STEP_EXECUTORS, and start the executor again."
    )
    log.error("step_executor_not_loaded", why=why)
    return _Broken(tools, excerpt_of(why, 2_000))
