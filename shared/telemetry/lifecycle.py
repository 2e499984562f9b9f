"""Starts and stops a process's telemetry."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from shared.settings import Settings
from shared.telemetry import metrics

if TYPE_CHECKING:
    from shared.telemetry.recorder import Recorder

LAG_INTERVAL = 1.0  # seconds between two measurements


@contextlib.asynccontextmanager
async def telemetry(service: str, settings: Settings) -> AsyncIterator[None]:
    """Export spans, if a collector is configured, and measure how late the event loop is."""
    recorder = None
    if settings.otel_exporter_otlp_endpoint:
        recorder = await asyncio.to_thread(_recorder, service, settings.otel_exporter_otlp_endpoint)
    measuring = asyncio.create_task(_measure_lag(), name="lag")
    try:
        yield
    finally:
        measuring.cancel()
        if recorder:
            await recorder.close()


def _recorder(service: str, endpoint: str) -> "Recorder":
    from shared.telemetry.recorder import Recorder, otlp_exporter  # noqa: PLC0415  half a second to import; only if spans are exported

    return Recorder(service, otlp_exporter(endpoint))


async def _measure_lag() -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LAG_INTERVAL
        await asyncio.sleep(LAG_INTERVAL)
        metrics.LOOP_LAG.observe(max(loop.time() - due, 0))
