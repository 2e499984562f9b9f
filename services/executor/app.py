"""Run the executor: `python -m services.executor.app`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from flows.loading import Flows
from flows.text_to_sql.flow import TextToSql
from packs.database.pack import DatabasePack
from services.executor.guide import PathGuide
from services.executor.handlers import Executor
from services.executor.hints import Hints
from services.executor.requests import Requests
from services.executor.sources.loading import LoadedPacks
from services.executor.sources.nodes import NodeTools
from services.executor.sources.packs import Packs
from services.executor.tools import Fixed, Registry, Source
from shared.flows import FLOWS_LIST
from shared.settings import Settings
from shared.tools import TOOLS_CHECK, TOOLS_LIST, TOOLS_PREVIEW
from shared.worker import Handler, Here, run_worker

log = structlog.get_logger("executor")


@asynccontextmanager
async def executing(here: Here) -> AsyncIterator[Handler]:
    """The executor's handler, with its tools at hand and its requests answered."""
    async with AsyncExitStack() as opened:
        loaded = LoadedPacks(here.settings.parley_packs_dir)
        await loaded.open(here.settings, opened)
        packs = tuple(loaded.packs.values())
        database = next(pack for pack in packs if isinstance(pack, DatabasePack))
        asks = TextToSql(database.database, Hints(here.store).similar)
        sources: tuple[Source, ...] = (
            Packs(packs, loaded.troubles),
            *await _foreign(here.settings, opened, taken=tuple(loaded.packs)),
        )
        nodes = NodeTools(Flows([asks], here.settings.parley_flows_dir), Registry(*sources))
        guide = PathGuide(nodes, here.store)
        registry = Registry(nodes, *sources)
        requests = Requests(registry, here.store, packs)
        await here.bus.answer(TOOLS_LIST, requests.list, queue="executor")
        await here.bus.answer(TOOLS_PREVIEW, requests.preview, queue="executor")
        await here.bus.answer(TOOLS_CHECK, requests.check, queue="executor")
        await here.bus.answer(FLOWS_LIST, guide.list, queue="executor")
        yield Executor(registry, here.bus, guide).run_wave


async def _foreign(settings: Settings, opened: AsyncExitStack, *, taken: tuple[str, ...]) -> tuple[Source, ...]:
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
    run_worker("executor", executing)
