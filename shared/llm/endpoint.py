"""The HTTP client for the configured endpoint, with bounded responses."""

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from shared.message_limits import CONNECTIONS, limit_responses
from shared.settings import Settings


def openai_client(
    settings: Settings, *, base_url: str, timeout: float | httpx2.Timeout, http_client: httpx2.AsyncClient | None = None
) -> AsyncOpenAI:
    """A client without retries. Reading a response raises MessageTooLong beyond the limits in the settings."""
    http = http_client or DefaultAsyncHttpx2Client(limits=CONNECTIONS)
    limit = limit_responses(settings.model_max_message_bytes, total=settings.model_max_response_bytes)
    http.event_hooks = {**http.event_hooks, "response": [*http.event_hooks["response"], limit]}
    return AsyncOpenAI(
        base_url=base_url,
        api_key=settings.model_key,
        default_headers={"Accept-Encoding": "identity"},
        timeout=timeout,
        max_retries=0,
        http_client=http,
    )
