"""Runs a service's process: settings, logs, signals, health over HTTP (but the gateway's), and a clean shutdown."""

import asyncio
import contextlib
import gc
import json
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import structlog
import uvloop

from shared.bus.broker import Application
from shared.bus.log_format import WrongFormat
from shared.environment import keep_files_private
from shared.logging import configure_logging
from shared.settings import Settings
from shared.telemetry import metrics
from shared.telemetry.lifecycle import telemetry
from shared.watchdog import watchdog

log = structlog.get_logger("service")
DISCONNECT_TIMEOUT = 5.0  # seconds after the handlers' grace period, to disconnect from NATS and the model
REQUEST_TIMEOUT = 5.0  # seconds for a whole request
MAX_HEADERS = 100
Ready = Callable[[], bool]


def serve(app: Application) -> None:
    """Run the application until a signal: the main function of `python -m services.<name>.app`."""

    async def live(stop: asyncio.Event) -> None:
        async with health_server(app.settings.health_port, lambda: app.ready):
            try:
                if await start_or_stop(app.start(), stop):
                    log.info("ready")
                    await stop.wait()
            finally:
                await app.stop()

    run(app.service, app.settings, live)


async def start_or_stop(start: Coroutine[Any, Any, None], stop: asyncio.Event) -> bool:
    """Wait until started, however long that takes; False if `stop` is set first. Raises what `start` raises."""
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
    gc.freeze()  # scanning the loaded modules again and again takes an eighth of a busy service's time
    gc.set_threshold(10_000, 20, 20)

    async def run_observed(stop: asyncio.Event) -> None:
        async with telemetry(name, settings), watchdog(settings.watchdog_timeout):
            await live(stop)

    try:
        uvloop.run(_until_signal(run_observed, settings.graceful_timeout + DISCONNECT_TIMEOUT))
    except WrongFormat as error:
        log.critical("wrong_format", reason=str(error))
        sys.exit(1)


async def _until_signal(live: Callable[[asyncio.Event], Awaitable[None]], shutdown_timeout: float) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(live(stop))

    def request_stop() -> None:
        if stop.is_set():
            task.cancel()
        stop.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, request_stop)
    # A service that still waits for NATS does not wait for `stop` yet.
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        await asyncio.wait({task}, timeout=shutdown_timeout)
        task.cancel()
    stopping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@contextlib.asynccontextmanager
async def health_server(port: int, ready: Ready) -> AsyncIterator[None]:
    """Serve /healthz (the event loop runs), /readyz (the service can work) and /metrics; port 0: do not."""
    if not port:
        yield
        return

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(REQUEST_TIMEOUT):
                line = await reader.readline()
                for _ in range(MAX_HEADERS):  # unread headers would turn the close into a reset
                    if not (await reader.readline()).strip():
                        break
                status, kind, body = _answer(line, ready)
                writer.write(b"HTTP/1.1 %s\r\nContent-Type: %s\r\n" % (status.encode(), kind.encode()))
                writer.write(b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(respond, "0.0.0.0", port):  # noqa: S104  inside its container
        yield


def _answer(line: bytes, ready: Ready) -> tuple[str, str, bytes]:
    """Status, content type and body."""
    if line.startswith(b"GET /metrics"):
        return "200 OK", metrics.CONTENT_TYPE, metrics.exposition()
    good = not line.startswith(b"GET /readyz") or ready()
    status = "200 OK" if good else "503 Service Unavailable"
    return status, "application/json", json.dumps({"ready": ready()}).encode()
