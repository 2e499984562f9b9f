"""Step executors of installed packages, as the settings list them: they run steps of plans in place of their tools."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

import structlog

from parley import Failed, Unavailable
from parley.step_executor import Result as StepResult
from parley.step_executor import StepContext, StepExecutor
from services.executor.calling import within_deadline
from services.executor.keeping import with_value
from services.executor.session_files import Objects, SessionFiles
from services.executor.sources.packs import context_of
from services.executor.tools import Call, RegisteredTool, Result
from shared.domain.plan_steps import step_of
from shared.plugins import named
from shared.retry import retry_while_unavailable
from shared.settings import Settings

log = structlog.get_logger("executor")
GROUP = "parley.step_executors"  # of entry points: a module, a subclass of StepExecutor, or an instance


class _Broken(NamedTuple):
    """An executor that cannot be used, and the tools whose steps it would run: they must not run in another way."""

    tools: Sequence[str]
    why: str


class StepExecutors:
    """Those with these names, in this order. `objects`: where the bytes of a session's files lie."""

    def __init__(self, names: Sequence[str] = (), objects: Objects | None = None) -> None:
        self._objects = objects
        self._executors = {name: _loaded(name) for name in dict.fromkeys(names)}

    @property
    def troubles(self) -> tuple[str, ...]:
        return tuple(one.why for one in self._executors.values() if isinstance(one, _Broken))

    async def open(self, settings: Settings, opened: AsyncExitStack) -> None:
        """Open each. While one cannot be opened, the steps that it would run fail."""
        for name, executor in self._executors.items():
            if isinstance(executor, _Broken):
                continue
            try:
                await retry_while_unavailable(Unavailable)(executor.open)(settings)
            except (Exception, SystemExit) as error:  # a stranger's code
                self._executors[name] = _broken(name, error, executor.tools)
            else:
                opened.push_async_callback(executor.close)

    def taking_over(self, tools: Mapping[str, RegisteredTool]) -> Mapping[str, RegisteredTool]:
        """These tools, as steps of a plan run them."""
        return {name: self._taken_over(tool) for name, tool in tools.items()} if self._executors else tools

    def _taken_over(self, tool: RegisteredTool) -> RegisteredTool:
        for executor in self._executors.values():
            if any(fnmatchcase(tool.spec.name, pattern) for pattern in executor.tools):
                if isinstance(executor, _Broken):
                    return tool._replace(run=partial(_refuse, executor.why))
                spec = tool.spec.model_copy(update={"keyed": executor.keyed})
                seconds = executor.seconds or tool.seconds
                return tool._replace(spec=spec, run=partial(self._run, executor, tool), seconds=seconds)
        return tool

    async def _run(self, executor: StepExecutor, tool: RegisteredTool, call: Call) -> Result:
        step = step_of(call.session, call.action.spec.id) if call.action else None
        plan = call.session.plan
        if call.action is None or step is None or plan is None:
            return Result(ok=False, error="This call is no step of the plan at hand.")
        base = context_of(call.session, call.key, self._objects)
        running = _RunningTool(executor, tool, call)
        context = StepContext(
            **vars(base),
            goal=plan.goal,
            steps=plan.steps,
            attempt=call.action.attempt,
            tool=tool.spec,
            run_tool=running,
        )
        run = retry_while_unavailable(Unavailable)(executor.run) if _again(executor, tool) else executor.run
        try:
            made: object = await run(step, dict(call.arguments), call.key, context)
        except Failed as error:
            failed = Result(ok=False, error=str(error), unknown=error.unknown)
            return with_value(failed, error.result, tool.spec.effect)
        if not isinstance(made, StepResult):
            raise TypeError(f"{type(executor).__name__} returned {type(made).__name__}, which is no Result.")
        result = Result(bool(made.ok), error=str(made.error), unknown=bool(made.unknown))
        own = base.files.changes if isinstance(base.files, SessionFiles) else {}
        files = {**running.files, **own} if made.ok else {}
        return with_value(result, made.value, tool.spec.effect)._replace(files=files)


class _RunningTool:
    """`run_tool` of one step: the tool itself, with the step's arguments and key."""

    def __init__(self, executor: StepExecutor, tool: RegisteredTool, call: Call) -> None:
        self._executor = executor
        self._tool = tool
        self._call = call
        self._ran = False
        self.files = Result(ok=True).files

    async def __call__(self) -> StepResult:
        tool = self._tool
        if not tool.again and self._executor.keyed:
            raise Failed(f"{tool.spec.name} is not keyed, so a keyed executor cannot run it.")
        if not tool.again and self._ran:
            raise Failed(f"{tool.spec.name} has run for this step, and may not run again.", unknown=True)
        self._ran = True
        result = await within_deadline(tool, lambda: tool.run(self._call))
        self.files = result.files
        return StepResult(result.value, result.ok, result.error, result.unknown)


def _again(executor: StepExecutor, tool: RegisteredTool) -> bool:
    return executor.keyed or tool.spec.effect == "read"


async def _refuse(why: str, _: Call) -> Result:
    return Result(ok=False, error=why)


def _loaded(name: str) -> StepExecutor | _Broken:
    try:
        executor = named(GROUP, name, StepExecutor)  # type: ignore[type-abstract]  # of which it is none
        named_tools: object = executor.tools  # a stranger's
        if (
            not isinstance(named_tools, tuple)
            or not named_tools
            or not all(isinstance(one, str) for one in named_tools)
        ):
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
    return _Broken(tools, why[:2_000])
