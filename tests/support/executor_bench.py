"""A test bench of the executor: its handlers on an in-memory log, with tools that a test defines."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from parley.events import SessionEvent, facts, parse_event
from parley.events.values import ActionSpec, Artefact, Effect, SessionSettings, content_hash
from parley.protocol.tools import ToolSpec
from services.executor.handlers import Executor
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain.kernel.commands import Work
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Turn
from shared.domain.transcript.dialogue import Words
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps

SETTINGS = SessionSettings(approval="never")
SESSION = Session("s", version=4, workflow="agentflow", settings=SETTINGS, words=Words(request="Look"))
Run = Callable[[ToolInvocation], Awaitable[ToolResult]]


class ArtefactDict:
    """An object store in a dictionary. With `error`, every `keep` fails."""

    def __init__(self, error: str = "") -> None:
        self.kept: dict[str, bytes] = {}
        self._error = error

    async def keep(self, name: str, data: bytes) -> Artefact:
        if self._error:
            raise OSError(self._error)
        self.kept[name] = data
        return Artefact(name=name, size=len(data), sha256=content_hash(data.decode()))


def tool(name: str, run: Run, effect: Effect = "read", *, keyed: bool = False, seconds: float = 5) -> RegisteredTool:
    spec = ToolSpec(name=name, description=f"{name} things", parameters={}, effect=effect, keyed=keyed)
    return RegisteredTool(spec, run, timeout=seconds)


def act(name: str, number: int = 1, effect: Effect = "read", status: Any = "planned") -> Action:
    return Action(ActionSpec(id=f"1.{number}", tool=name, arguments={"n": number}, effect=effect), status)


class ExecutorBench:
    """An executor with these tools, a session with these actions, and their outcomes."""

    def __init__(
        self,
        *actions: Action,
        tools: tuple[RegisteredTool, ...] = (),
        artefacts: ArtefactDict | None = None,
        begin: Session = SESSION,
    ) -> None:
        self.log = InMemoryLog()
        self.artefacts = artefacts or ArtefactDict()
        self.executor = Executor(Registry(StaticSource(*tools)), self.artefacts)
        work = Work(service="executor", version=SESSION.version)
        session = replace(begin, phase="executing", work=work, turn=Turn(1, "look", actions, "planner"))
        deps = WorkerDeps("executor", InMemoryStore(self.log), self.log, ScriptedModel(), Drafts(None), Settings())
        self.context = WorkContext(deps, SessionAtPosition(session, 0), cause="s:cause")

    async def run(self) -> list[SessionEvent]:
        await self.executor.run_batch(self.context)
        return self.events

    @property
    def events(self) -> list[SessionEvent]:
        return [parse_event(raw.data) for raw in self.log.messages]

    def outcomes(self) -> dict[str, Any]:
        """The outcome or the `action.uncertain` event of each action, by action id."""
        result: dict[str, Any] = {}
        for event in self.events:
            if isinstance(event, facts.ActionsFinished):
                result |= {outcome.action_id: outcome for outcome in event.outcomes}
            elif isinstance(event, facts.ActionUncertain):
                result[event.action_id] = event
        return result


def returning(value: Any = "seen") -> Run:
    async def run(_: ToolInvocation) -> ToolResult:
        return ToolResult(ok=True, value=value)

    return run


def failing(error: Exception) -> Run:
    async def run(_: ToolInvocation) -> ToolResult:
        raise error

    return run


async def hanging(_: ToolInvocation) -> ToolResult:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")
