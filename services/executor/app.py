"""Run the executor: `python -m services.executor.app`."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
from packs.retail.data import load
from packs.retail.generate import generate
from packs.retail.store import Worlds, WorldsDown, WrongBase

from flows.loading import Flows
from services.executor.asking import Asking
from services.executor.guide import PathGuide
from services.executor.handlers import Executor
from services.executor.nodes import NodeTools
from services.executor.program import RUN_CODE
from services.executor.requests import Requests
from services.executor.retail import Retail
from services.executor.tools import Fixed, Registry, Source
from shared.flows import FLOWS_LIST
from shared.retry import retry_while_unavailable
from shared.settings import Settings
from shared.tools import TOOLS_LIST, TOOLS_PREVIEW
from shared.worker import Handler, Here, run_worker

log = structlog.get_logger("executor")


@asynccontextmanager
async def executing(here: Here) -> AsyncIterator[Handler]:
    """The executor's handler, with its tools at hand and its requests answered."""
    async with AsyncExitStack() as opened:
        worlds = await _worlds(here.settings)
        opened.push_async_callback(worlds.close)
        asking = Asking(here.settings, here.store)
        opened.push_async_callback(asking.close)
        sources: tuple[Source, ...] = (Fixed(RUN_CODE), Retail(worlds), *await _foreign(here.settings, opened))
        nodes = NodeTools(Flows([asking.flow()], here.settings.parley_flows_dir), Registry(*sources))
        guide = PathGuide(nodes, here.store)
        registry = Registry(nodes, *sources)
        requests = Requests(registry, here.store, worlds.fingerprint)
        await here.bus.answer(TOOLS_LIST, requests.list, queue="executor")
        await here.bus.answer(TOOLS_PREVIEW, requests.preview, queue="executor")
        await here.bus.answer(FLOWS_LIST, guide.list, queue="executor")
        yield Executor(registry, here.bus, guide).run_wave


async def _worlds(settings: Settings) -> Worlds:
    folder = settings.parley_retail_data_dir
    worlds = Worlds(settings.retail_url, lambda: load(folder) if folder else generate())
    try:
        await retry_while_unavailable(WorldsDown)(worlds.open)()
    except WrongBase as error:
        sys.exit(str(error))  # a person must choose: starting again would not help
    return worlds


async def _foreign(settings: Settings, opened: AsyncExitStack) -> tuple[Source, ...]:
    """The configured MCP servers. A file that cannot be used takes away its tools, not all others: it is told of."""
    if settings.parley_mcp_config is None:
        return ()
    from services.executor.foreign import Foreign  # noqa: PLC0415  it takes long to load, and few configure servers
    from services.executor.mcp import BadConfig, McpTools, read_config  # noqa: PLC0415

    try:
        servers = McpTools(read_config(settings.parley_mcp_config), message_bytes=settings.mcp_max_message_bytes)
    except BadConfig as error:
        log.error("mcp_not_configured", error=str(error))
        return (Fixed(trouble=str(error)),)
    opened.push_async_callback(servers.stop)
    await servers.start()
    return (Foreign(servers),)


if __name__ == "__main__":
    run_worker("executor", executing)
