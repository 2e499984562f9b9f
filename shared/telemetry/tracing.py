"""Spans, by OpenTelemetry's API: without a collector (OTEL_EXPORTER_OTLP_ENDPOINT) they are not recorded.

All spans of a session are one trace, whose id is derived from the session's. The header `traceparent` of stored
messages and bus requests carries the parent span.
"""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

SESSION = "gen_ai.conversation.id"
OPERATION = "gen_ai.operation.name"
AGENT = "gen_ai.agent.name"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL = "gen_ai.tool.name"
SERVER = "server.address"
ERROR = "error.type"

MESSAGING = "messaging.system"
MESSAGING_OPERATION = "messaging.operation.name"
MESSAGING_OPERATION_TYPE = "messaging.operation.type"
SUBJECT = "messaging.destination.name"
CONSUMER = "messaging.consumer.group.name"

RPC = "rpc.system.name"
RPC_METHOD = "rpc.method"

NATS = "nats"  # messaging.system and rpc.system.name

EVENT = "parley.event.type"
VERSION = "parley.event.version"
DUE = "parley.due"
POSITION = "parley.position"
DELIVERIES = "parley.deliveries"
OUTCOME = "parley.outcome"
COMMAND = "parley.command"
ATTEMPT = "parley.attempt"
ESTIMATED = "parley.usage.estimated"
COST = "parley.cost.dollars"
EFFECT = "parley.tool.effect"
HEADER = "traceparent"

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Value = str | int | float | bool | Sequence[str]
Attributes = Mapping[str, Value]

NO_TRACER = trace.NoOpTracer()
new_trace_id: ContextVar[int] = ContextVar("new_trace_id", default=0)  # the trace id of a span without a parent
_propagator = TraceContextTextMapPropagator()
_tracer: trace.Tracer = NO_TRACER


def set_tracer(tracer: trace.Tracer) -> None:
    """Record this process's spans by `tracer`."""
    global _tracer  # noqa: PLW0603  one tracer per process
    _tracer = tracer


def trace_id(session_id: str) -> int:
    """The session's trace id. Ids are evenly spread, so that samplers keep whole sessions, equal in all processes."""
    return int.from_bytes(hashlib.sha256(session_id.encode()).digest()[:16])


@contextmanager
def session_span(
    name: str, session_id: str, *, kind: Kind, parent: str | None = None, attributes: Attributes | None = None
) -> Iterator[Span]:
    """A span of a session; `parent` is the `traceparent` of its cause, if known and in the session's trace."""
    session_trace = trace_id(session_id)
    current = trace.get_current_span().get_span_context()
    above = next((span for span in (_parse(parent), current) if span.trace_id == session_trace), None)
    links = [Link(current)] if current.is_valid and above is None else []  # a fork starts inside its parent's trace
    token = new_trace_id.set(session_trace)
    try:
        span = _start(name, kind, above, {SESSION: session_id, **(attributes or {})}, links)
    finally:
        new_trace_id.reset(token)
    with _current(span):
        yield span


@contextmanager
def child_span(
    name: str, *, kind: Kind = "internal", parent: str | None = None, attributes: Attributes | None = None
) -> Iterator[Span]:
    """A span inside `parent` or the current span; not recorded if there is neither."""
    spans = (_parse(parent), trace.get_current_span().get_span_context())
    above = next((span for span in spans if span.is_valid), None)
    with _current(_start(name, kind, above, attributes or {}) if above else trace.INVALID_SPAN) as span:
        yield span


def fail(span: Span, error: str) -> None:
    """Mark the span as failed; `error` has few values and is never a message."""
    span.set_attribute(ERROR, error)
    span.set_status(Status(StatusCode.ERROR))


def headers() -> Mapping[str, str]:
    """Headers that carry the current span to another process."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier


def _start(
    name: str, kind: Kind, above: SpanContext | None, attributes: Attributes, links: Sequence[Link] = ()
) -> Span:
    context = trace.set_span_in_context(NonRecordingSpan(above), Context()) if above else Context()
    return _tracer.start_span(name, context, SpanKind[kind.upper()], dict(attributes), links)


@contextmanager
def _current(span: Span) -> Iterator[Span]:
    """End the span with the block. An error's text may quote a user or a model: only its class is recorded."""
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield span
        except Exception as error:
            fail(span, type(error).__name__)
            raise
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            span.set_attribute(OUTCOME, "cancelled")
            raise


def _parse(header: str | None) -> SpanContext:
    """The span that this `traceparent` names, or an invalid one."""
    return trace.get_current_span(_propagator.extract({HEADER: header or ""}, Context())).get_span_context()
