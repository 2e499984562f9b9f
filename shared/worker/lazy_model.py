"""A model whose client is imported in the background: it takes longer to import than everything else."""

import asyncio
from typing import TYPE_CHECKING

from pydantic import BaseModel

from shared.llm import ModelRequest
from shared.llm.types import IMPORT_LOCK
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.llm.client import OpenAIModel


class LazyModel:
    """A Model whose first call waits for the client's import."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: asyncio.Task[OpenAIModel] | None = None

    def load(self) -> "asyncio.Task[OpenAIModel]":
        """Start the import, once."""
        if self._client is None:
            self._client = asyncio.create_task(asyncio.to_thread(_import_client, self._settings))
        return self._client

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        """See `shared.llm.Model.ask`."""
        client = await asyncio.shield(self.load())
        return await client.ask(request)

    async def aclose(self) -> None:
        if self._client:
            await (await self._client).aclose()


def _import_client(settings: Settings) -> "OpenAIModel":
    with IMPORT_LOCK:
        from shared.llm.client import OpenAIModel  # noqa: PLC0415  deferred on purpose

    return OpenAIModel(settings)
