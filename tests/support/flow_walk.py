"""Walks a path through flows with the real executor over an in-memory log; the test plays user, planner and model."""

from pathlib import Path
from typing import Any, cast

from flows.loading import Flows
from parley.events import SessionEvent, parse_event
from parley.events.values import ActionSpec, Artefact, PathPlan, SessionSettings
from parley.flow import Flow
from parley.protocol.flows import FlowPage, ListFlows
from parley.protocol.tools import ToolSpec
from services.executor.flow import PathGuide
from services.executor.handlers import Executor
from services.executor.sources.nodes import NodeTools
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.llm import ModelByTask
from shared.log import TimedLog
from shared.settings import Settings
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps


class NoArtefactStore:
    async def keep(self, name: str, data: bytes) -> Artefact:
        raise AssertionError(f"{name}: nothing here is too large, {len(data)} bytes")


class Walk(Story):
    """One session with these flows and tools."""

    def __init__(
        self, *flows: Flow, tools: tuple[RegisteredTool, ...] = (), folder: Path | None = None, **replies: Any
    ) -> None:
        self.memory = InMemoryLog()
        super().__init__("s", log=self.memory)
        self.store = InMemoryStore(self.memory)
        self.model = ModelByTask({name.replace("__", "."): message for name, message in replies.items()})
        nodes = NodeTools(Flows(flows, folder), Registry(StaticSource(*tools)))
        self.guide = PathGuide(nodes, self.store)
        self.registry = Registry(nodes, StaticSource(*tools))
        self.requests = ToolRequests(self.registry, self.store)
        self.executor = Executor(self.registry, NoArtefactStore(), {"flow": self.guide})

    async def begins(self, request: str, *path: str, **wanted: Any) -> Session:
        """The user sends a request, the planner plans this path, and the executor runs as far as it may."""
        settings = SessionSettings(**wanted)
        await self.commit(c.Say(text=request, workflow="flow", settings=settings))
        return await self.plans(*path)

    async def plans(self, *path: str) -> Session:
        """The planner plans a turn with this path, and the executor runs as far as it may."""
        turn = (await self.load()).counts.turns + 1
        specs = tuple(
            ActionSpec(id=f"{turn}.{n}", tool=tool, description=tool, depends_on=(f"{turn}.{n - 1}",) if n > 1 else ())
            for n, tool in enumerate(path, 1)
        )
        await self.commit(c.PlanTurn(sub_goal="walk", actions=specs, final=True, path=PathPlan(nodes=path)))
        return await self.goes()

    def context(self, loaded: Any) -> WorkContext:
        deps = WorkerDeps("executor", self.store, cast(TimedLog, self.log), self.model, Drafts(None), Settings())
        return WorkContext(deps, loaded, cause="s:cause")

    async def goes(self) -> Session:
        """Run the executor until another service or the user is due."""
        while (loaded := await self.load_at_position()).session.phase == "executing":
            context = self.context(loaded)
            assert context.work
            await self.executor.run_batch(context)
        return loaded.session

    async def answers(self, text: str) -> Session:
        await self.commit(c.Answer(text=text))
        return await self.goes()

    async def allows(self) -> Session:
        await self.commit(allow)
        return await self.goes()

    async def page(self, session_id: str = "") -> FlowPage:
        question = ListFlows(session_id=session_id).model_dump_json().encode()
        return FlowPage.model_validate_json(await self.guide.list("flows.list", question) or b"")

    @property
    def events(self) -> list[SessionEvent]:
        """All events of the log, including the executor's."""
        return [parse_event(raw.data) for raw in self.memory.messages]


def allow(session: Session) -> c.Approve:
    """Approve the waiting action with its current arguments."""
    action = waiting(session)
    return c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash)


def waiting(session: Session) -> Action:
    """The action that awaits approval."""
    assert session.turn
    return next(action for action in session.turn.actions if action.status == "planned" and action.spec.approval_reason)


def walked(session: Session) -> list[str]:
    """The names of the nodes that ran, in order."""
    assert session.turn
    return [a.spec.tool.partition(".")[2] for a in session.turn.actions if a.status == "finished"]


def last(session: Session) -> Action:
    """The last action that has ended."""
    assert session.turn
    return [action for action in session.turn.actions if action.status in ("finished", "failed", "denied")][-1]


def tool(name: str, answer: Any, effect: Any = "read", *, keyed: bool = False, **more: Any) -> RegisteredTool:
    """A registered tool that returns or raises this answer, or what this function of its call returns."""

    async def run(call: ToolInvocation) -> ToolResult:
        result = answer(call) if callable(answer) else answer
        if isinstance(result, Exception):
            raise result
        return result if isinstance(result, ToolResult) else ToolResult(ok=True, value=result)

    spec = ToolSpec(name=name, description=f"{name} things", parameters={}, effect=effect, keyed=keyed, **more)
    return RegisteredTool(spec, run, timeout=5)
