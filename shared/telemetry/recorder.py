"""Records spans by OpenTelemetry's SDK. Imported only if a collector is configured.

The provider is not the process's global one: libraries that trace by themselves could export arguments.
"""

import asyncio
import threading
from contextlib import suppress

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from shared.telemetry import tracing

FLUSH_TIMEOUT = 2.0  # seconds for exporting the last spans at the end


def otlp_exporter(endpoint: str) -> SpanExporter:
    """An exporter for OTLP over HTTP. OpenTelemetry's variables set headers, certificates and time-outs."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  slow to import

    return OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")


class Recorder:
    """Records and exports this process's spans, from its creation until `close`."""

    def __init__(self, service: str, exporter: SpanExporter) -> None:
        resource = Resource.create({"service.name": f"parley-{service}", "service.namespace": "parley"})
        provider = TracerProvider(resource=resource, id_generator=_SessionIdGenerator(), shutdown_on_exit=False)
        self._processor = BatchSpanProcessor(exporter)
        provider.add_span_processor(self._processor)
        tracing.set_tracer(provider.get_tracer("parley"))

    async def close(self) -> None:
        """Export the remaining spans, for at most FLUSH_TIMEOUT seconds."""
        tracing.set_tracer(tracing.NO_TRACER)
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


class _SessionIdGenerator(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        return tracing.new_trace_id.get() or super().generate_trace_id()
