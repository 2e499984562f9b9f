"""Spans by OpenTelemetry's SDK. Imported only where there is a collector to send them to.

The provider is ours alone, not the process's global one: libraries that trace by themselves might tell arguments.
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
GOODBYE = 2.0  # seconds that the last spans may take at the end
_KINDS: dict[Kind, SpanKind] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_beginning: ContextVar[int] = ContextVar("_beginning", default=0)  # the trace id that a span without a parent gets


def trace_id(session_id: str) -> int:
    """Evenly spread, so that samplers by trace id keep whole sessions, the same ones in every process."""
    return int.from_bytes(hashlib.sha256(session_id.encode()).digest()[:16])


def otlp(endpoint: str) -> SpanExporter:
    """To a collector that speaks OTLP over HTTP; headers, certificates and time-outs by OpenTelemetry's variables."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  as slow as all the rest

    return OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")


class Recorder:
    """Where this process's spans go."""

    def __init__(self, service: str, exporter: SpanExporter) -> None:
        resource = Resource.create({"service.name": f"parley-{service}", "service.namespace": "parley"})
        provider = TracerProvider(resource=resource, id_generator=_SessionIds(), shutdown_on_exit=False)
        self._processor = BatchSpanProcessor(exporter)
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("parley")

    async def close(self) -> None:
        """Send what is left; a collector that is away keeps nobody waiting for long."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def say_goodbye() -> None:
            self._processor.shutdown()  # type: ignore[no-untyped-call]
            with suppress(RuntimeError):  # nobody has waited for it
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=say_goodbye, daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE):
                await done.wait()

    async def flush(self) -> None:
        """Send what there is now."""
        await asyncio.to_thread(self._processor.force_flush)

    def of_session(
        self, name: str, session_id: str, kind: Kind, parent: str | None, attributes: Attributes
    ) -> AbstractContextManager[Span]:
        """See tracing. A parent of another session's trace is a stranger's word."""
        wanted = trace_id(session_id)
        told = _told(parent)
        here = trace.get_current_span().get_span_context()
        above = told if told and told.trace_id == wanted else here if here.trace_id == wanted else None
        elsewhere = (here,) if here.is_valid and above is None else ()  # a fork is begun in its parent's trace
        return self._span(name, kind, above, {names.SESSION: session_id, **attributes}, wanted, elsewhere)

    def within(
        self, name: str, kind: Kind, parent: str | None, attributes: Attributes
    ) -> AbstractContextManager[Span] | None:
        """See tracing."""
        here = trace.get_current_span().get_span_context()
        above = _told(parent) or (here if here.is_valid else None)
        return self._span(name, kind, above, attributes) if above else None

    def headers(self) -> Mapping[str, str]:
        here = trace.get_current_span().get_span_context()
        if not here.is_valid:
            return {}
        return {HEADER: f"00-{here.trace_id:032x}-{here.span_id:016x}-{int(here.trace_flags) & 1:02x}"}

    @contextmanager
    def _span(  # noqa: PLR0913, PLR0917  a span has as many sides
        self,
        name: str,
        kind: Kind,
        above: SpanContext | None,
        attributes: Attributes,
        beginning: int = 0,
        links: tuple[SpanContext, ...] = (),
    ) -> Iterator[Span]:
        context = trace.set_span_in_context(NonRecordingSpan(above), Context()) if above else Context()
        token = _beginning.set(beginning)
        try:
            span = self._tracer.start_span(name, context, _KINDS[kind], dict(attributes), [Link(one) for one in links])
        finally:
            _beginning.reset(token)
        # What an error says may be what a person or a model wrote: only its class is told.
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            recorded = _Recorded(span)
            try:
                yield recorded
            except Exception as error:
                recorded.fail(type(error).__name__)
                raise
            except BaseException:
                recorded.set({names.OUTCOME: "cancelled"})
                raise


class _Recorded:
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(dict(attributes))

    def fail(self, error: str) -> None:
        self._span.set_attribute(names.ERROR, error)
        self._span.set_status(Status(StatusCode.ERROR))


class _SessionIds(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        return _beginning.get() or super().generate_trace_id()


def _told(header: str | None) -> SpanContext | None:
    """The span that a `traceparent` names."""
    if not header or not (found := TRACEPARENT.fullmatch(header)):
        return None
    told = SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=TraceFlags(int(found[3], 16)))
    return told if told.is_valid else None
