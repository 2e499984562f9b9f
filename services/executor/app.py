"""The executor's application: `python -m services.executor.app`."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import structlog

from flows.loading import Flows
from flows.text_to_sql.flow import TextToSql
from packs.database.pack import DatabasePack
from parley.protocol.flows import FLOWS_LIST
from parley.protocol.tools import (
    TOOLS_CHECK,
    TOOLS_LIST,
    TOOLS_POLL,
    TOOLS_PREVIEW,
    TOOLS_PREVIEWS,
)
from services.executor.execution_plan import StepGuide
from services.executor.flow import PathGuide
from services.executor.handlers import Executor, FairSlots, Guide
from services.executor.poll_requests import PollRequests
from services.executor.query_hints import QueryHints
from services.executor.sources.loading import LoadedPacks
from services.executor.sources.nodes import NodeTools
from services.executor.sources.packs import LoadedPackSource
from services.executor.step_executors import StepExecutors
from services.executor.tool_requests import ToolRequests
from services.executor.tools import Registry, StaticSource, ToolSource, new_task
from shared import sandbox
from shared.bus import Delivery
from shared.settings import Settings
from shared.worker import ServiceContext, WorkContext, WorkerApplication, WorkerOverrides, serve, worker_application

WAITING = 8  # deliveries that a process holds for each slot, so that those of other users are among them

log = structlog.get_logger("executor")


class Endpoints(NamedTuple):
    """The open executor: what runs actions, and what answers requests about tools and flows."""

    executor: Executor
    requests: ToolRequests
    polls: PollRequests
    guide: PathGuide


def build(settings: Settings, parts: WorkerOverrides | None = None) -> WorkerApplication:
    app = worker_application("executor", settings, parts)
    tools = app.resource(lambda: open_executor(app.service_context))

    slots = FairSlots(settings.worker_concurrency)

    async def run_in_turn(context: WorkContext) -> None:
        async with slots.slot(context.session.owner):
            await tools().executor.run_batch(context)

    @app.broker.subscriber(durable="executor", limit=WAITING * settings.worker_concurrency)
    async def execute(delivery: Delivery) -> None:
        """Run the actions that are due."""
        await app.work(delivery, run_in_turn)

    @app.broker.answer(TOOLS_LIST, queue="executor")
    async def list_tools(subject: str, data: bytes) -> bytes:
        """List the tools, best matches of a query first."""
        return await tools().requests.list(subject, data)

    @app.broker.answer(TOOLS_PREVIEW, queue="executor")
    async def preview_call(subject: str, data: bytes) -> bytes:
        """Preview what a call would change."""
        return await tools().requests.preview(subject, data)

    @app.broker.answer(TOOLS_PREVIEWS, queue="executor")
    async def preview_calls(subject: str, data: bytes) -> bytes:
        """Preview what each call of a plan would change, made alone."""
        return await tools().requests.previews(subject, data)

    @app.broker.answer(TOOLS_CHECK, queue="executor")
    async def check_calls(subject: str, data: bytes) -> bytes:
        """Check calls against the packs' rules."""
        return await tools().requests.check(subject, data)

    @app.broker.answer(TOOLS_POLL, queue="executor")
    async def poll(subject: str, data: bytes) -> bytes | None:
        """Call the tool that a step polls, once."""
        return await tools().polls.poll(subject, data)

    @app.broker.answer(FLOWS_LIST, queue="executor")
    async def list_flows(subject: str, data: bytes) -> bytes | None:
        """List the flows with their nodes."""
        return await tools().guide.list(subject, data)

    return app


@asynccontextmanager
async def open_executor(context: ServiceContext) -> AsyncIterator[Endpoints]:
    """Opens packs, MCP servers and step executors, and closes them at the end."""
    asyncio.get_running_loop().set_task_factory(new_task)
    async with AsyncExitStack() as opened:
        if abandoned := await asyncio.to_thread(sandbox.remove_abandoned):
            log.info("program_folders_removed", folders=abandoned)
        loaded = LoadedPacks(context.settings.parley_packs_dir)
        names = [pack.name for pack in loaded.packs.values() if pack.tools]
        tells = any(pack.tells_subjects for pack in loaded.packs.values())
        await loaded.open(context.settings, opened)
        database = next(pack for pack in loaded.packs.values() if isinstance(pack, DatabasePack))
        sql_flow = TextToSql(database.database, QueryHints(context.store).similar)
        executors = StepExecutors(context.settings.parley_step_executors, context.bus)
        await executors.open(context.settings, opened)
        sources: tuple[ToolSource, ...] = (
            LoadedPackSource(loaded, context.bus),
            *(StaticSource(trouble=why) for why in executors.troubles),
            *await _mcp_source(context.settings, opened, taken=names),
        )
        nodes = NodeTools(Flows([sql_flow], context.settings.parley_flows_dir), Registry(*sources))
        guide = PathGuide(nodes, context.store)
        registry = Registry(nodes, *sources)
        requests = ToolRequests(registry, context.store, loaded.packs.values(), tells_subjects=tells)
        steps = StepGuide(registry, context.bus, executors)
        guides: dict[str, Guide] = {"flow": guide, "execution_plan": steps, "agentflow": steps}
        yield Endpoints(Executor(registry, context.bus, guides), requests, PollRequests(registry, context.store), guide)


async def _mcp_source(settings: Settings, opened: AsyncExitStack, *, taken: Collection[str]) -> tuple[ToolSource, ...]:
    """The tools of the configured MCP servers. A bad configuration is reported, and the other tools still work."""
    if settings.parley_mcp_config is None:
        return ()
    from services.executor.mcp import BadConfig, McpTools, read_config  # noqa: PLC0415  slow import
    from services.executor.sources.mcp import McpSource  # noqa: PLC0415

    try:
        servers = McpTools(read_config(settings.parley_mcp_config, taken), message_bytes=settings.mcp_max_message_bytes)
    except BadConfig as error:
        log.error("mcp_not_configured", error=str(error))
        return (StaticSource(trouble=str(error)),)
    opened.push_async_callback(servers.stop)
    await servers.start()
    return (McpSource(servers),)


if __name__ == "__main__":
    serve(build(Settings()))
