"""Calls of models as they are seen from outside: figures always, a span where somebody traces. Never what was said."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from parley.events.values import ModelCall
from shared.telemetry import metrics, names, tracing

OPENAI = "api.openai.com"


@contextmanager
def watched_call(model: str, role: str, host: str) -> Iterator[Callable[[ModelCall], None]]:
    """One HTTP call; whoever makes it says what it came to."""
    attributes: dict[str, tracing.Value] = {
        names.OPERATION: "chat",
        names.PROVIDER: provider(host),
        names.MODEL: model,
        names.AGENT: role,
        names.SERVER: host,
    }
    with tracing.within(f"chat {model}", kind="client", attributes=attributes) as span:

        def told(call: ModelCall) -> None:
            _count(call)
            span.set(
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

        yield told


def provider(host: str) -> str:
    """The endpoint as `gen_ai.provider.name` has it."""
    return "openai" if host == OPENAI else "openai_compatible"


def _count(call: ModelCall) -> None:
    """Models are those that the settings name, or the first one that the endpoint lists: few."""
    labels = {"role": call.role, "model": call.model}
    metrics.MODEL.labels(**labels, outcome=call.outcome).observe(call.latency)
    metrics.TOKENS.labels(**labels, kind="prompt").inc(max(call.prompt_tokens - call.cached_tokens, 0))
    metrics.TOKENS.labels(**labels, kind="cached").inc(call.cached_tokens)
    metrics.TOKENS.labels(**labels, kind="completion").inc(call.completion_tokens)
    metrics.COST.labels(**labels).inc(call.cost)
