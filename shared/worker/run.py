"""How a service's process lives: settings, logs, signals, readiness, and a quiet end."""

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog
import uvloop

from shared.bus.application import Application
from shared.bus.log_format import WrongFormat
from shared.environment import keep_files_private
from shared.logging import configure_logging
from shared.settings import Settings
from shared.telemetry.running import observed
from shared.watchdog.service import WATCHDOG
from shared.worker.health import health

log = structlog.get_logger("service")
LEAVING = 5.0  # seconds beyond the grace of the handlers: saying goodbye to NATS and the model


def serve(app: Application) -> None:
    """The whole of a service's `python -m services.<name>.app`."""

    async def live(stop: asyncio.Event) -> None:
        async with health(app.settings.health_port, lambda: app.ready):
            try:
                if await started(app.start(), stop):
                    log.info("ready")
                    await stop.wait()
            finally:
                await app.stop()

    run(app.service, app.settings, live)


async def started(start: Coroutine[Any, Any, None], stop: asyncio.Event) -> bool:
    """Start, for as long as that takes; False when `stop` came first. Raises what `start` raises."""
    starting, stopping = asyncio.create_task(start), asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if starting.done():
        await starting
        return True
    starting.cancel()
    await asyncio.wait({starting})
    return False


def run(name: str, settings: Settings, live: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `live` until SIGTERM or SIGINT sets its event; a second signal ends at once."""
    keep_files_private()
    configure_logging(name, settings.log_level, settings.secrets)
    gc.freeze()  # what is loaded stays: looking through it again and again is an eighth of a busy service's time
    gc.set_threshold(10_000, 20, 20)

    async def seen(stop: asyncio.Event) -> None:
        async with observed(name, settings):
            await live(stop)

    with WATCHDOG.started(name, settings):
        try:
            uvloop.run(_until_signal(seen, settings.graceful_timeout + LEAVING))
        except WrongFormat as error:
            log.critical("wrong_format", reason=str(error))
            sys.exit(1)


async def _until_signal(live: Callable[[asyncio.Event], Awaitable[None]], patience: float) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(live(stop))

    def ask() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, ask)
    # A service that waits for NATS at its start is not yet waiting for `stop`.
    leaving = asyncio.create_task(stop.wait())
    await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        await asyncio.wait({task}, timeout=patience)
        task.cancel()
    leaving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
