"""Run the executor: `python -m services.executor.app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from retail.data import fingerprint, load
from retail.generate import generate
from retail.store import Worlds
from services.executor.handlers import Executor
from services.executor.program import RUN_CODE
from services.executor.requests import Requests
from services.executor.retail import Retail
from services.executor.tools import Fixed, Registry
from shared.tools import TOOLS_LIST, TOOLS_PREVIEW
from shared.worker import Handler, Here, run_worker


@asynccontextmanager
async def executing(here: Here) -> AsyncIterator[Handler]:
    """The executor's handler, with its tools at hand and its requests answered."""
    folder = here.settings.parley_retail_data
    data = load(folder) if folder else generate()
    worlds = Worlds(here.settings.retail_url, lambda: data)
    await worlds.open()
    try:
        registry = Registry(Fixed(RUN_CODE), Retail(worlds))
        requests = Requests(registry, here.store, fingerprint(data))
        await here.bus.answer(TOOLS_LIST, requests.list, queue="executor")
        await here.bus.answer(TOOLS_PREVIEW, requests.preview, queue="executor")
        yield Executor(registry, here.bus).run_wave
    finally:
        await worlds.close()


if __name__ == "__main__":
    run_worker("executor", executing)
