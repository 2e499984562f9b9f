"""Starts and stops a process's telemetry."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from shared.settings import Settings
from shared.telemetry import metrics, tracing
from shared.watchdog import BEAT_INTERVAL
from shared.watchdog.service import WATCHDOG

if TYPE_CHECKING:
    from shared.telemetry.recorder import Recorder


@contextlib.asynccontextmanager
async def telemetry(service: str, settings: Settings) -> AsyncIterator[None]:
    """Export spans, if a collector is configured, and send the event loop's heartbeat."""
    recorder = None
    if settings.otel_exporter_otlp_endpoint:
        recorder = await asyncio.to_thread(_recorder, service, settings.otel_exporter_otlp_endpoint)
        tracing.set_recorder(recorder)
    beating = asyncio.create_task(_beat(), name="heartbeat")
    try:
        yield
    finally:
        beating.cancel()
        WATCHDOG.stop_beating()
        tracing.set_recorder(None)
        if recorder:
            await recorder.close()


def _recorder(service: str, endpoint: str) -> "Recorder":
    from shared.telemetry.recorder import Recorder, otlp_exporter  # noqa: PLC0415  half a second to import; only if spans are exported

    return Recorder(service, otlp_exporter(endpoint))


async def _beat() -> None:
    """Send heartbeats, and measure how late they are."""
    loop = asyncio.get_running_loop()
    while True:
        WATCHDOG.beat()
        due = loop.time() + BEAT_INTERVAL
        await asyncio.sleep(BEAT_INTERVAL)
        metrics.LOOP_LAG.observe(max(loop.time() - due, 0))
