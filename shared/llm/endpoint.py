"""The HTTP client for the configured endpoint, with bounded responses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from parley.events.values import ModelCall
from shared.message_limits import CONNECTIONS, limit_responses
from shared.settings import Settings
from shared.telemetry import metrics, tracing

OPENAI = "api.openai.com"


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


@contextmanager
def observe_call(model: str, role: str, host: str) -> Iterator[Callable[[ModelCall], None]]:
    """Trace one HTTP call. The caller calls the yielded function with its result."""
    attributes: dict[str, tracing.Value] = {
        tracing.OPERATION: "chat",
        tracing.PROVIDER: provider(host),
        tracing.MODEL: model,
        tracing.AGENT: role,
        tracing.SERVER: host,
    }
    with tracing.child_span(f"chat {model}", kind="client", attributes=attributes) as span:

        def record(call: ModelCall) -> None:
            _count(call)
            span.set_attributes(
                {
                    tracing.INPUT_TOKENS: call.prompt_tokens,
                    tracing.CACHED_TOKENS: call.cached_tokens,
                    tracing.OUTPUT_TOKENS: call.completion_tokens,
                    tracing.ESTIMATED: call.estimated,
                    tracing.COST: call.cost,
                    tracing.ATTEMPT: call.attempt,
                    tracing.OUTCOME: call.outcome,
                }
            )

        yield record


def provider(host: str) -> str:
    """The endpoint's value of `gen_ai.provider.name`."""
    return "openai" if host == OPENAI else "openai_compatible"


def _count(call: ModelCall) -> None:
    """Count the call. The `model` label has few values: configured models, or the endpoint's first."""
    labels = {"role": call.role, "model": call.model}
    metrics.MODEL.labels(**labels, outcome=call.outcome).observe(call.latency)
    metrics.TOKENS.labels(**labels, kind="prompt").inc(max(call.prompt_tokens - call.cached_tokens, 0))
    metrics.TOKENS.labels(**labels, kind="cached").inc(call.cached_tokens)
    metrics.TOKENS.labels(**labels, kind="completion").inc(call.completion_tokens)
    metrics.COST.labels(**labels).inc(call.cost)
