"""The connection to the configured endpoint, whose answers are bounded whatever it sends."""

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from shared.message_limits import bounded
from shared.settings import Settings


def openai_client(
    settings: Settings, *, base_url: str, timeout: float | httpx2.Timeout, http_client: httpx2.AsyncClient | None = None
) -> AsyncOpenAI:
    """A client that does not try again by itself; whatever it reads may raise TooLarge, as the settings say."""
    http = http_client or DefaultAsyncHttpx2Client()
    limit = bounded(settings.model_max_message_bytes, total=settings.model_max_response_bytes)
    http.event_hooks = {**http.event_hooks, "response": [*http.event_hooks["response"], limit]}
    return AsyncOpenAI(
        base_url=base_url,
        api_key=settings.model_key,
        default_headers={"Accept-Encoding": "identity"},
        timeout=timeout,
        max_retries=0,
        http_client=http,
    )
