"""Registered tools of all sources, and one call of a tool: a deadline, metrics, and exactly one result."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import structlog
from pydantic import JsonValue

from parley.events.values import FileRef, OutcomeCause, ToolPolicy, ToolRule
from parley.protocol.tools import PastCall, Preview, ToolSpec
from parley.tool import DEFAULT_TIMEOUT
from parley.tool import MAX_RESULT as MAX_RESULT
from shared.domain.kernel import wording
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.llm import ModelError
from shared.log import LogUnavailable, UpgradeNeeded
from shared.logging import conceal
from shared.plan_checks.argument_values import value_problems
from shared.telemetry import metrics, tracing
from shared.worker import BudgetExceeded, WorkContext

Arguments = Mapping[str, JsonValue]
NO_FILES: Mapping[str, FileRef | None] = MappingProxyType({})
log = structlog.get_logger("executor")
_in_tool = ContextVar("in_tool", default=False)


class ToolInvocation(NamedTuple):
    """One call of a tool. `key` is its idempotency key. A node asks a model by `context`, and adds to `subjects`."""

    session: Session
    key: str
    arguments: Arguments
    context: WorkContext | None = None
    action: Action | None = None
    subjects: list[str] | None = None


class ToolResult(NamedTuple):
    """The result of a call.

    `unknown`: it is not known whether the call took effect. `cause`: why it was ended from outside, if it was. The pack
    says whether the result shows the intended change (`confirmed`, None if it cannot tell), which rules the call broke
    (`violation`), whether it handed the request over to a person, and whom the call was about (`subject`: "" if this
    call does not tell, None if none does). `files` are the changed session files, by name.
    """

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False
    cause: OutcomeCause | None = None
    confirmed: bool | None = None
    violation: str = ""
    handed_over: bool = False
    files: Mapping[str, FileRef | None] = NO_FILES
    subject: str | None = None


class RegisteredTool(NamedTuple):
    """A tool of any source. `timeout` is in seconds; a result over `max_bytes` is stored as an artefact.

    `check` returns why a call is forbidden after earlier calls, or cannot be made with its arguments; without it the
    tool's schema decides on them. `called_tool` is the registered tool that a flow's node
    calls: the user's remembered policy for that tool holds for the node. `cannot_run` tells whether a node lacks an
    input that its path should have made. `subject` tells whom a call with this result was about, "" if it cannot.
    """

    spec: ToolSpec
    run: Callable[[ToolInvocation], Awaitable[ToolResult]]
    preview: Callable[[Session, Arguments], Awaitable[Preview]] | None = None
    check: Callable[[Arguments, Sequence[PastCall]], tuple[str, ...]] | None = None
    timeout: float = DEFAULT_TIMEOUT
    max_bytes: int = MAX_RESULT
    called_tool: str = ""
    cannot_run: Callable[[Session], bool] | None = None
    subject: Callable[[Arguments, JsonValue], str] | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether a call may be repeated if its outcome is unknown."""
        return self.spec.effect == "read" or self.spec.keyed

    def objections(self, arguments: Arguments, past: Sequence[PastCall]) -> tuple[str, ...]:
        """Why this call must not be made after these earlier ones."""
        if self.check:
            return self.check(arguments, past)
        return value_problems(arguments, self.spec.parameters, self.spec.name)

    def policy(self, session: Session) -> ToolPolicy | None:
        """The policy that the user chose in this session, or the tool's own; "always" if each call is confirmed."""
        if self.spec.policy == "deny":
            return "deny"
        own = session.policies.get(self.called_tool or self.spec.name) or self.spec.policy
        return own or ("always" if self.spec.is_confirmed(session.settings.confirm) else None)

    def rule(self, session: Session) -> ToolRule | None:
        """The rule for the tool's calls, whatever a plan says; None if the call will fail and needs no approval."""
        if self.cannot_run and self.cannot_run(session):
            return None
        return self.spec.rule.model_copy(update={"policy": self.policy(session)})


class ToolSource(Protocol):
    """A source of tools. `version` changes whenever its tools may have changed."""

    @property
    def version(self) -> int: ...

    def tools(self) -> Iterable[RegisteredTool]: ...

    def troubles(self) -> Iterable[str]: ...


class Registry:
    """The tools of all sources by name. If two have the same name, the earlier source wins.

    The index is rebuilt only when a source's version changes.
    """

    def __init__(self, *sources: ToolSource) -> None:
        self._sources = sources
        self._versions: tuple[int, ...] | None = None
        self._tools: dict[str, RegisteredTool] = {}

    @property
    def version(self) -> int:
        return sum(source.version for source in self._sources)

    def all(self) -> Mapping[str, RegisteredTool]:
        """All tools, sorted by name. The mapping is a snapshot: it does not change when sources do."""
        versions = tuple(source.version for source in self._sources)
        if versions != self._versions:
            tools: dict[str, RegisteredTool] = {}
            for source in self._sources:
                for tool in source.tools():
                    tools.setdefault(tool.spec.name, tool)
            self._versions, self._tools = versions, dict(sorted(tools.items()))
        return self._tools

    def find(self, name: str) -> RegisteredTool | None:
        return self.all().get(name)

    def troubles(self) -> tuple[str, ...]:
        return tuple(conceal(trouble) for source in self._sources for trouble in source.troubles())


class StaticSource:
    """A source with a fixed list of tools."""

    version = 0

    def __init__(self, *tools: RegisteredTool, trouble: str = "") -> None:
        self._tools = tools
        self._trouble = trouble

    def tools(self) -> Iterable[RegisteredTool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return (self._trouble,) if self._trouble else ()


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
