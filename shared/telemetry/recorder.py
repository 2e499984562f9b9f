"""Spans by OpenTelemetry's SDK. Imported only if a collector is configured.

The provider is not the process's global one: libraries that trace by themselves could export arguments.
"""

import asyncio
import hashlib
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from shared.telemetry import names
from shared.telemetry.tracing import HEADER, Attributes, Kind, Span

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
FLUSH_TIMEOUT = 2.0  # seconds for exporting the last spans at the end
_KINDS: dict[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_new_trace_id: ContextVar[int] = ContextVar("_beginning", default=0)  # the trace id of a span without a parent


def trace_id(session_id: str) -> int:
    """The session's trace id. Ids are evenly spread, so that samplers keep whole sessions, equal in all processes."""
    return int.from_bytes(hashlib.sha256(session_id.encode()).digest()[:16])


def otlp_exporter(endpoint: str) -> SpanExporter:
    """An exporter for OTLP over HTTP. OpenTelemetry's variables set headers, certificates and time-outs."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  slow to import

    return OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")


class Recorder:
    """Records and exports this process's spans."""

    def __init__(self, service: str, exporter: SpanExporter) -> None:
        resource = Resource.create({"service.name": f"parley-{service}", "service.namespace": "parley"})
        provider = TracerProvider(resource=resource, id_generator=_SessionIdGenerator(), shutdown_on_exit=False)
        self._processor = BatchSpanProcessor(exporter)
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("parley")

    async def close(self) -> None:
        """Export the remaining spans, for at most FLUSH_TIMEOUT seconds."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._processor.shutdown()  # type: ignore[no-untyped-call]
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut_down, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_TIMEOUT):
                await done.wait()

    async def flush(self) -> None:
        """Export the finished spans."""
        await asyncio.to_thread(self._processor.force_flush)

    def session_span(
        self, name: str, session_id: str, kind: Kind, parent: str | None, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        """See tracing. A parent of another session's trace is ignored."""
        session_trace = trace_id(session_id)
        remote = _parse_traceparent(parent)
        current = trace.get_current_span().get_span_context()
        above = next((span for span in (remote, current) if span and span.trace_id == session_trace), None)
        links = (current,) if current.is_valid and above is None else ()  # a fork starts inside its parent's trace
        return self._span(name, kind, above, {names.SESSION: session_id, **attributes}, session_trace, links)

    def child_span(
        self, name: str, kind: Kind, parent: str | None, attributes: Attributes
    ) -> AbstractContextManager[Span] | None:
        """See tracing."""
        current = trace.get_current_span().get_span_context()
        above = _parse_traceparent(parent) or (current if current.is_valid else None)
        return self._span(name, kind, above, attributes) if above else None

    def headers(self) -> Mapping[str, str]:
        current = trace.get_current_span().get_span_context()
        if not current.is_valid:
            return {}
        return {HEADER: f"00-{current.trace_id:032x}-{current.span_id:016x}-{int(current.trace_flags) & 1:02x}"}

    @contextmanager
    def _span(  # noqa: PLR0913, PLR0917  the span's options
        self,
        name: str,
        kind: Kind,
        parent: SpanContext | None,
        attributes: Attributes,
        new_trace_id: int = 0,
        links: tuple[SpanContext, ...] = (),
    ) -> Iterator[Span]:
        context = trace.set_span_in_context(NonRecordingSpan(parent), Context()) if parent else Context()
        token = _new_trace_id.set(new_trace_id)
        try:
            span = self._tracer.start_span(
                name, context, _KINDS[kind], dict(attributes), [Link(linked) for linked in links]
            )
        finally:
            _new_trace_id.reset(token)
        # An error's text may quote a user or a model: only its class is recorded.
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            recorded = _RecordedSpan(span)
            try:
                yield recorded
            except Exception as error:
                recorded.fail(type(error).__name__)
                raise
            except BaseException:
                recorded.set({names.OUTCOME: "cancelled"})
                raise


class _RecordedSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(dict(attributes))

    def fail(self, error: str) -> None:
        self._span.set_attribute(names.ERROR, error)
        self._span.set_status(Status(StatusCode.ERROR))


class _SessionIdGenerator(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        return _new_trace_id.get() or super().generate_trace_id()


def _parse_traceparent(header: str | None) -> SpanContext | None:
    """The span that this `traceparent` names; None if it is not valid."""
    if not header or not (match := TRACEPARENT.fullmatch(header)):
        return None
    context = SpanContext(
        int(match[1], 16), int(match[2], 16), is_remote=True, trace_flags=TraceFlags(int(match[3], 16))
    )
    return context if context.is_valid else None
