"""Embeddings from the configured endpoint, which are optional: a failure returns None."""

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from shared.llm.endpoint import provider
from shared.llm.types import IMPORT_LOCK
from shared.logging import excerpt_of
from shared.settings import Settings
from shared.telemetry import tracing

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

log = structlog.get_logger("llm")
EMBEDDING_TIMEOUT = 5.0  # seconds
MAX_TEXT_CHARS = 8_000  # characters of one text
UNSUPPORTED = frozenset({404, 405, 410, 501})  # status codes of an endpoint without embeddings: do not ask again


class Embeddings:
    """Calls `POST /embeddings` with `settings.parley_embedding_model`; without that setting it does nothing."""

    def __init__(self, settings: Settings, http_client: "httpx2.AsyncClient | None" = None) -> None:
        self._settings = settings
        self._http_client = http_client
        self._client: AsyncOpenAI | None = None
        self._is_available = bool(settings.parley_embedding_model and settings.model_url)

    @property
    def is_available(self) -> bool:
        """Whether the endpoint offers embeddings, as far as known."""
        return self._is_available

    async def embed(self, texts: Sequence[str]) -> list[list[float]] | None:
        """A vector for each text, in order, all of one length; None if there are none or the request fails."""
        if not self._is_available or not texts:
            return None
        try:
            async with asyncio.timeout(EMBEDDING_TIMEOUT):
                return await self._request(texts)
        except Exception as error:
            self._is_available = getattr(error, "status_code", None) not in UNSUPPORTED
            log.warning("no_embeddings", error=excerpt_of(repr(error), 500), again=self._is_available)
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client:
            await self._client.close()

    async def _request(self, texts: Sequence[str]) -> list[list[float]]:
        if self._client is None:
            self._client = await asyncio.to_thread(self._create_client)
        model = self._settings.parley_embedding_model
        host = self._client.base_url.host
        attributes = {
            tracing.OPERATION: "embeddings",
            tracing.PROVIDER: provider(host),
            tracing.MODEL: model,
            tracing.SERVER: host,
        }
        with tracing.child_span(f"embeddings {model}", kind="client", attributes=attributes):
            reply = await self._client.embeddings.create(
                model=model, input=[text[:MAX_TEXT_CHARS] or " " for text in texts], encoding_format="float"
            )
        vectors = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1 or not vectors[0]:
            raise ValueError(f"{len(vectors)} vectors for {len(texts)} texts, or not all of one length")
        if not all(math.isfinite(number) for vector in vectors for number in vector):
            raise ValueError("vectors that are not numbers")
        return vectors

    def _create_client(self) -> "AsyncOpenAI":
        with IMPORT_LOCK:
            from shared.llm.endpoint import openai_client  # noqa: PLC0415  a second to import; most processes never need it

        settings = self._settings
        return openai_client(
            settings, base_url=settings.model_url, timeout=EMBEDDING_TIMEOUT, http_client=self._http_client
        )
