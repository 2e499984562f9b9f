"""The rehearsal model as a server for one test, which can inject faults and list its calls."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from rehearsal.app import build
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from tests.support.http_client import http_client
from tests.support.serving import serving
from tests.support.timeouts import WAIT_TIMEOUT

Call = dict[str, Any]


class RehearsalServer:
    """A running server; `settings` and `model` are configured for it."""

    def __init__(self, url: str, settings: Settings, http: httpx2.AsyncClient) -> None:
        self.url = url
        self.settings = settings.model_copy(update={"openai_base_url": f"{url}/v1", "openai_model": "rehearsal"})
        self.model = OpenAIModel(self.settings, first_wait=0.01)
        self._http = http

    async def fault(self, **fault: Any) -> None:
        (await self._http.post(f"{self.url}/faults", json=fault)).raise_for_status()

    async def clear_faults(self) -> None:
        (await self._http.delete(f"{self.url}/faults")).raise_for_status()

    async def calls(self) -> list[Call]:
        return list((await self._http.get(f"{self.url}/calls")).json())

    async def wait_for_calls(self, wanted: Callable[[list[Call]], bool]) -> list[Call]:
        """Poll the list of calls until it meets the condition."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not wanted(calls := await self.calls()):
                pass
            return calls


@asynccontextmanager
async def rehearsal_server(settings: Settings) -> AsyncIterator[RehearsalServer]:
    async with serving(build(pace=0)) as url, http_client() as http:
        server = RehearsalServer(url, settings, http)
        yield server
        await server.model.aclose()
