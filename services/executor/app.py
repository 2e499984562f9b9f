"""The executor's application: `python -m services.executor.app`."""

from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import structlog

from flows.loading import Flows
from flows.text_to_sql.flow import TextToSql
from packs.database.pack import DatabasePack
from parley.protocol.flows import FLOWS_LIST, FlowPage, ListFlows
from parley.protocol.tools import (
    TOOLS_CHECK,
    TOOLS_LIST,
    TOOLS_LOOK,
    TOOLS_PREVIEW,
    TOOLS_PREVIEWS,
    CheckCalls,
    ListTools,
    Looked,
    LookNow,
    Preview,
    PreviewCall,
    PreviewCalls,
    Previews,
    ToolPage,
    Violations,
)
from services.executor.execution_plan import StepGuide
from services.executor.flow import PathGuide
from services.executor.handlers import Executor, Guide
from services.executor.hints import Hints
from services.executor.polling import LookRequests
from services.executor.requests import Requests
from services.executor.sources.loading import LoadedPacks
from services.executor.sources.nodes import NodeTools
from services.executor.sources.packs import Packs
from services.executor.step_executors import StepExecutors
from services.executor.tools import Fixed, Registry, Source
from shared.bus import Delivery
from shared.settings import Settings
from shared.worker import Parts, ServiceContext, WorkerApplication, serve, worker_application

log = structlog.get_logger("executor")


class Tools(NamedTuple):
    """The tools at hand: what runs them, and what answers about them."""

    executor: Executor
    requests: Requests
    looks: LookRequests
    guide: PathGuide


def build(settings: Settings, parts: Parts | None = None) -> WorkerApplication:
    app = worker_application("executor", settings, parts)
    tools = app.opened(lambda: executing(app.here))

    @app.broker.subscriber(durable="executor")
    async def execute(delivery: Delivery) -> None:
        """Run the actions that are due."""
        await app.work(delivery, tools().executor.run_wave)

    @app.broker.subscriber(TOOLS_LIST, queue="executor", request=ListTools, answer=ToolPage)
    async def list_tools(subject: str, data: bytes) -> bytes:
        """The tools there are, those that fit a query first."""
        return await tools().requests.list(subject, data)

    @app.broker.subscriber(TOOLS_PREVIEW, queue="executor", request=PreviewCall, answer=Preview)
    async def preview_call(subject: str, data: bytes) -> bytes:
        """What a call would change."""
        return await tools().requests.preview(subject, data)

    @app.broker.subscriber(TOOLS_PREVIEWS, queue="executor", request=PreviewCalls, answer=Previews)
    async def preview_calls(subject: str, data: bytes) -> bytes:
        """What the calls of a plan would change, each made alone."""
        return await tools().requests.previews(subject, data)

    @app.broker.subscriber(TOOLS_CHECK, queue="executor", request=CheckCalls, answer=Violations)
    async def check_calls(subject: str, data: bytes) -> bytes:
        """Which calls the packs' rules forbid, and why."""
        return await tools().requests.check(subject, data)

    @app.broker.subscriber(TOOLS_LOOK, queue="executor", request=LookNow, answer=Looked)
    async def look(subject: str, data: bytes) -> bytes | None:
        """What a step sees that polls."""
        return await tools().looks.look(subject, data)

    @app.broker.subscriber(FLOWS_LIST, queue="executor", request=ListFlows, answer=FlowPage)
    async def list_flows(subject: str, data: bytes) -> bytes | None:
        """The flows there are, with their nodes."""
        return await tools().guide.list(subject, data)

    return app


@asynccontextmanager
async def executing(here: ServiceContext) -> AsyncIterator[Tools]:
    """The executor's tools, open as long as it runs."""
    async with AsyncExitStack() as opened:
        loaded = LoadedPacks(here.settings.parley_packs_dir)
        await loaded.open(here.settings, opened)
        packs = tuple(loaded.packs.values())
        database = next(pack for pack in packs if isinstance(pack, DatabasePack))
        asks = TextToSql(database.database, Hints(here.store).similar)
        executors = StepExecutors(here.settings.parley_step_executors, here.bus)
        await executors.open(here.settings, opened)
        sources: tuple[Source, ...] = (
            Packs(packs, (*loaded.troubles, *executors.troubles), here.bus),
            *await _foreign(here.settings, opened, taken=[pack.name for pack in packs if pack.tools]),
        )
        nodes = NodeTools(Flows([asks], here.settings.parley_flows_dir), Registry(*sources))
        guide = PathGuide(nodes, here.store)
        registry = Registry(nodes, *sources)
        requests = Requests(registry, here.store, packs)
        guides: dict[str, Guide] = {"flow": guide, "execution_plan": StepGuide(registry, here.bus, executors)}
        yield Tools(Executor(registry, here.bus, guides), requests, LookRequests(registry, here.store), guide)


async def _foreign(settings: Settings, opened: AsyncExitStack, *, taken: Collection[str]) -> tuple[Source, ...]:
    """The configured MCP servers. A file that cannot be used takes away its tools, not all others: it is told of."""
    if settings.parley_mcp_config is None:
        return ()
    from services.executor.mcp import BadConfig, McpTools, read_config  # noqa: PLC0415  it takes long to load
    from services.executor.sources.mcp import McpSource  # noqa: PLC0415

    try:
        servers = McpTools(read_config(settings.parley_mcp_config, taken), message_bytes=settings.mcp_max_message_bytes)
    except BadConfig as error:
        log.error("mcp_not_configured", error=str(error))
        return (Fixed(trouble=str(error)),)
    opened.push_async_callback(servers.stop)
    await servers.start()
    return (McpSource(servers),)


if __name__ == "__main__":
    serve(build(Settings()))
