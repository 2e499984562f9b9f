"""Two tools and a model that wait until the test lets them go on."""

import asyncio
from collections import defaultdict
from typing import Any, cast

from pydantic import BaseModel

from parley.events.values import Effect
from parley.protocol.tools import TOOLS_LIST, ToolSpec
from services.executor.execution_plan import StepGuide
from services.executor.handlers import Executor
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.bus import Bus
from shared.llm import OnPartial, ScriptedModel
from shared.llm.scripted import Scripted
from shared.settings import Settings
from shared.worker import WorkContext, WorkerApplication, WorkerOverrides
from tests.support import stack
from tests.support.timeouts import WAIT_TIMEOUT


class Hold:
    """Passes everything until `hold`; then `arrived` tells that something waits, and `release` lets it go on."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._waiting: asyncio.Queue[None] = asyncio.Queue()

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def arrived(self) -> None:
        await asyncio.wait_for(self._waiting.get(), WAIT_TIMEOUT)

    async def passed(self) -> None:
        if not self._open.is_set():
            self._waiting.put_nowait(None)
            await self._open.wait()


class HeldTools:
    """`look` reads and `send` writes. `made` lists what was looked at and sent, by the argument `what`.

    `calls` holds the call with this argument, `begin` the executor before it records what it starts.
    """

    def __init__(self) -> None:
        self.made: list[str] = []
        self.calls: dict[str, Hold] = defaultdict(Hold)
        self.begin = Hold()

    def build(self, settings: Settings, parts: WorkerOverrides) -> WorkerApplication:
        """The executor with these tools."""
        bus = cast(Bus, parts.bus)
        registry = Registry(StaticSource(self._tool("look", "read"), self._tool("send", "write")))
        executor = Executor(registry, bus, {"execution_plan": StepGuide(registry, bus)})

        async def run(context: WorkContext) -> None:
            await self.begin.passed()
            await executor.run_batch(context)

        app = stack.doing("executor", run)(settings, parts)
        requests = ToolRequests(registry, app.service_context.store)
        app.broker.answer(TOOLS_LIST, queue="executor")(requests.list)
        return app

    async def _run(self, call: ToolInvocation) -> ToolResult:
        what = str(call.arguments["what"])
        await self.calls[what].passed()
        self.made.append(what)
        return ToolResult(ok=True, value=f"{what}: done")

    def _tool(self, name: str, effect: Effect) -> RegisteredTool:
        schema: Any = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
        return RegisteredTool(
            ToolSpec(name=name, description=f"{name} it", parameters=schema, effect=effect), self._run
        )


class HeldModel(ScriptedModel):
    """A model whose replies wait, half written, while `writing` holds."""

    def __init__(self, *replies: Scripted) -> None:
        super().__init__(*replies)
        self.writing = Hold()

    async def stream(self, reply: BaseModel, on_partial: OnPartial) -> None:
        await self.writing.passed()
        await super().stream(reply, on_partial)
