"""Telemetry for as long as a process lives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from shared.settings import Settings
from shared.telemetry import metrics, tracing
from shared.watchdog import BEAT
from shared.watchdog.service import WATCHDOG

if TYPE_CHECKING:
    from shared.telemetry.recorder import Recorder


@contextlib.asynccontextmanager
async def observed(service: str, settings: Settings) -> AsyncIterator[None]:
    """Spans, where there is a collector, and the heartbeat of the event loop."""
    recorder = None
    if settings.otel_exporter_otlp_endpoint:
        recorder = await asyncio.to_thread(_recorder, service, settings.otel_exporter_otlp_endpoint)
        tracing.use(recorder)
    beating = asyncio.create_task(_beat(), name="heartbeat")
    try:
        yield
    finally:
        beating.cancel()
        WATCHDOG.rest()
        tracing.use(None)
        if recorder:
            await recorder.close()


def _recorder(service: str, endpoint: str) -> "Recorder":
    from shared.telemetry.recorder import Recorder, otlp  # noqa: PLC0415  half a second, for those who trace

    return Recorder(service, otlp(endpoint))


async def _beat() -> None:
    """The heartbeat of the event loop, and how late it is."""
    loop = asyncio.get_running_loop()
    while True:
        WATCHDOG.beat()
        due = loop.time() + BEAT
        await asyncio.sleep(BEAT)
        metrics.LOOP_LAG.observe(max(loop.time() - due, 0))
