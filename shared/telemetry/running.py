"""Telemetry for as long as a process lives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from shared.settings import Settings
from shared.telemetry import metrics, tracing

if TYPE_CHECKING:
    from shared.telemetry.recorder import Recorder

EVERY = 1.0  # seconds between two looks at how late the event loop is


@contextlib.asynccontextmanager
async def observed(service: str, settings: Settings) -> AsyncIterator[None]:
    """Spans, where there is a collector, and an eye on the event loop."""
    recorder = None
    if settings.otel_exporter_otlp_endpoint:
        recorder = await asyncio.to_thread(_recorder, service, settings.otel_exporter_otlp_endpoint)
        tracing.use(recorder)
    watching = asyncio.create_task(_watch_loop(), name="event loop lag")
    try:
        yield
    finally:
        watching.cancel()
        tracing.use(None)
        if recorder:
            await recorder.close()


def _recorder(service: str, endpoint: str) -> "Recorder":
    from shared.telemetry.recorder import Recorder, otlp  # noqa: PLC0415  half a second, for those who trace

    return Recorder(service, otlp(endpoint))


async def _watch_loop() -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY
        await asyncio.sleep(EVERY)
        metrics.LOOP_LAG.observe(max(loop.time() - due, 0))
