"""Parley in one process: the real gateway, plan store and workers on a bus in memory, with a scripted model.

The tools and packs are real, too. A test writes the model's replies and uses the page.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from pydantic import BaseModel

from parley.protocol.tools import ToolSpec
from services.executor import app
from services.executor.sources.packs import LoadedPackSource
from services.executor.tools import RegisteredTool, ToolInvocation, ToolResult
from services.gateway.app import build
from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers, project
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.templates import TemplateStore
from shared.bus import Bus
from shared.llm import ModelByTask, OnPartial
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.testing import InMemoryTemplateLog, session_ids
from tests.support.bus import FakeBus, FeedingLog
from tests.support.gateway import gateway_settings, serving
from tests.support.stack import working

LARGE = "\n".join(f"product {number}: one of very many" for number in range(40_000))
PACE = 0.02  # seconds per field
LISTS = ToolSpec(name="list_everything", description="List everything there is", parameters={}, effect="read")


class Gate:
    """Holds back the calls of tools, so that a test can act while they run."""

    def __init__(self) -> None:
        self._passing = 0
        self._open = asyncio.Event()
        self._open.set()

    def hold(self, passing: int = 0) -> None:
        """Let `passing` calls through, and hold all later ones until `release`."""
        self._passing = passing
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def run(self, tool: RegisteredTool, call: ToolInvocation) -> ToolResult:
        if self._passing:
            self._passing -= 1
        else:
            await self._open.wait()
        return await tool.run(call)


class GatedPacks(LoadedPackSource):
    """The packs' tools behind a gate, and another tool whose result is too large for an event."""

    gate: Gate

    def tools(self) -> Iterable[RegisteredTool]:
        for tool in (*super().tools(), RegisteredTool(LISTS, _list_everything)):
            yield tool._replace(run=partial(self.gate.run, tool))


async def _list_everything(_: ToolInvocation) -> ToolResult:
    return ToolResult(ok=True, value=LARGE)


class StreamingModel(ModelByTask):
    """Writes a reply at once, or `slowly`: field by field, for tests that watch drafts grow."""

    slowly = False

    async def stream(self, reply: BaseModel, on_partial: OnPartial) -> None:
        if not self.slowly:
            await super().stream(reply, on_partial)
            return
        written: dict[str, Any] = {}
        for name, value in reply.model_dump(mode="json")["reply"].items():
            written[name] = value
            await on_partial({"reply": written})
            await asyncio.sleep(PACE)


class InProcess(NamedTuple):
    """A running Parley. `url` is its page, `model.replies` are the replies by task, `gate` holds back tool calls."""

    url: str
    log: FeedingLog
    model: StreamingModel
    gate: Gate


@asynccontextmanager
async def plan_store(bus: FakeBus, settings: Settings) -> AsyncIterator[PlanStoreClient]:
    """The client of a plan store on this bus, whose SQLite file already holds the projection of the log."""
    database = ProjectionDatabase(settings.sql_url)
    await database.migrate()
    projector = Projector(bus.log, database)
    for session_id in await session_ids(bus.log):
        await projector.load(session_id)
    bus.consume("plan_store", partial(project, projector))
    requests = RequestHandlers(bus.log, database, projector, templates=TemplateStore(InMemoryTemplateLog(), database))
    for subject, respond in requests.responders().items():
        await bus.answer(subject, respond)
    yield PlanStoreClient(cast(Bus, bus))
    await database.close()


@asynccontextmanager
async def in_process(home: Path, bus: FakeBus | None = None, **chosen: Any) -> AsyncIterator[InProcess]:
    """Run Parley until the block ends, without login by default. The log of `bus` may already hold sessions."""
    settings = gateway_settings(parley_home=home, **chosen)
    bus, model, gate = bus or FakeBus(), StreamingModel({}), Gate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GatedPacks, "gate", gate, raising=False)
        patch.setattr(app, "LoadedPackSource", GatedPacks)
        async with (
            plan_store(bus, settings) as store,
            working(settings, model, within=(bus, store)),
            serving(build(settings, bus, store, bus.log)) as address,
        ):
            yield InProcess(f"http://{address}", bus.log, model, gate)
