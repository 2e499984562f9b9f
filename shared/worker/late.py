"""The model's client, loaded while the service is up already: it takes longer to import than all the rest."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from shared.llm import BeforeCall, Message, OnCall, OnPartial, Role
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.llm.client import OpenAIModel


class LateModel:
    """A Model; its first question waits for the client to be loaded."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loading: asyncio.Task[OpenAIModel] | None = None

    def load(self) -> "asyncio.Task[OpenAIModel]":
        """Begin to load, once."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(_client, self._settings))
        return self._loading

    async def ask[R: BaseModel](  # noqa: PLR0913  a question has as many sides
        self,
        role: Role,
        messages: Sequence[Message],
        reply: type[R],
        *,
        quality: str = "",
        model: str = "",
        temperature: float | None = None,
        refuse: Callable[[R], str] | None = None,
        before_call: BeforeCall | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `shared.llm.Model.ask`."""
        client = await asyncio.shield(self.load())
        return await client.ask(
            role,
            messages,
            reply,
            quality=quality,
            model=model,
            temperature=temperature,
            refuse=refuse,
            before_call=before_call,
            on_call=on_call,
            on_partial=on_partial,
        )

    async def aclose(self) -> None:
        if self._loading:
            await (await self._loading).aclose()


def _client(settings: Settings) -> "OpenAIModel":
    from shared.llm.client import OpenAIModel  # noqa: PLC0415  the import is what this module is about

    return OpenAIModel(settings)
