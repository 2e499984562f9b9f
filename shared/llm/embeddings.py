"""Texts as vectors, where the configured endpoint offers it. Nothing depends on it: what fails is None."""

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from shared.llm.watched import provider
from shared.settings import Settings
from shared.telemetry import names, tracing

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

log = structlog.get_logger("llm")
PATIENCE = 5.0  # seconds
LONGEST = 8_000  # characters of one text
ABSENT = frozenset({404, 405, 410, 501})  # the endpoint has no embeddings, and will have none later


class Embeddings:
    """`POST /embeddings` with the model of `settings.parley_embedding_model`; without one it is not used."""

    def __init__(self, settings: Settings, http_client: "httpx2.AsyncClient | None" = None) -> None:
        self._settings = settings
        self._http_client = http_client
        self._client: AsyncOpenAI | None = None
        self._offered = bool(settings.parley_embedding_model and settings.model_url)

    @property
    def offered(self) -> bool:
        """Whether there is any point in asking."""
        return self._offered

    async def embed(self, texts: Sequence[str]) -> list[list[float]] | None:
        """A vector for each text, in order, all of one length; None where that could not be had."""
        if not self._offered or not texts:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._asked(texts)
        except Exception as error:
            self._offered = getattr(error, "status_code", None) not in ABSENT
            log.warning("no_embeddings", error=repr(error)[:500], again=self._offered)
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client:
            await self._client.close()

    async def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        if self._client is None:
            self._client = await asyncio.to_thread(self._connected)
        model = self._settings.parley_embedding_model
        host = self._client.base_url.host
        attributes = {
            names.OPERATION: "embeddings",
            names.PROVIDER: provider(host),
            names.MODEL: model,
            names.SERVER: host,
        }
        with tracing.within(f"embeddings {model}", kind="client", attributes=attributes):
            reply = await self._client.embeddings.create(
                model=model, input=[text[:LONGEST] or " " for text in texts], encoding_format="float"
            )
        vectors = [one.embedding for one in sorted(reply.data, key=lambda one: one.index)]
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
            raise ValueError(f"{len(vectors)} vectors for {len(texts)} texts, or not all of one length")
        if not all(math.isfinite(number) for vector in vectors for number in vector):
            raise ValueError("vectors that are not numbers")
        return vectors

    def _connected(self) -> "AsyncOpenAI":
        from shared.llm.endpoint import openai_client  # noqa: PLC0415  a second to import, and most never ask

        settings = self._settings
        return openai_client(settings, base_url=settings.model_url, timeout=PATIENCE, http_client=self._http_client)
