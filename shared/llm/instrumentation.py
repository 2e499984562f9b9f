"""Metrics and spans of model calls, without their contents."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from parley.events.values import ModelCall
from shared.telemetry import metrics, names, tracing

OPENAI = "api.openai.com"


@contextmanager
def observe_call(model: str, role: str, host: str) -> Iterator[Callable[[ModelCall], None]]:
    """Trace one HTTP call. The caller calls the yielded function with its result."""
    attributes: dict[str, tracing.Value] = {
        names.OPERATION: "chat",
        names.PROVIDER: provider(host),
        names.MODEL: model,
        names.AGENT: role,
        names.SERVER: host,
    }
    with tracing.child_span(f"chat {model}", kind="client", attributes=attributes) as span:

        def record(call: ModelCall) -> None:
            _count(call)
            span.set_attributes(
                {
                    names.INPUT_TOKENS: call.prompt_tokens,
                    names.CACHED_TOKENS: call.cached_tokens,
                    names.OUTPUT_TOKENS: call.completion_tokens,
                    names.ESTIMATED: call.estimated,
                    names.COST: call.cost,
                    names.ATTEMPT: call.attempt,
                    names.OUTCOME: call.outcome,
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
