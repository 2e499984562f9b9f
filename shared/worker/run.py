"""How a service's process lives: settings, logs, signals, readiness, and a quiet end."""

import asyncio
import contextlib
import gc
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple

import structlog
import uvloop

from shared.bus import Bus
from shared.bus.log_format import WrongFormat
from shared.environment import keep_files_private
from shared.events.values import Service
from shared.logging import configure_logging
from shared.services import PING
from shared.settings import Settings
from shared.store import Asks, Store
from shared.telemetry.running import observed
from shared.watchdog.service import WATCHDOG
from shared.worker.desk import Kit
from shared.worker.draft import Drafts
from shared.worker.health import health
from shared.worker.late import LateModel
from shared.worker.worker import Handler, Worker

log = structlog.get_logger("service")
LEAVING = 5.0  # seconds beyond the grace of the handlers: saying goodbye to NATS and the model
WARM_UP_AFTER = 4.0  # seconds: on a small machine the other services are still starting


class Here(NamedTuple):
    """Where a service works: what its handler may need besides the desk."""

    settings: Settings
    bus: Bus
    store: Asks


Opens = Callable[[Here], contextlib.AbstractAsyncContextManager[Handler]]


def plain(handler: Handler) -> Opens:
    """A handler that needs nothing besides its desk."""
    return lambda _: contextlib.nullcontext(handler)


def run_worker(service: Service, opens: Opens, model_of: type[LateModel] = LateModel) -> None:
    """The whole of a worker's `python -m services.<name>.app`; what `opens` makes is open as long as it runs."""
    settings = Settings()

    async def live(stop: asyncio.Event) -> None:
        bus = Bus(settings, service)
        model = model_of(settings)
        async with health(settings.health_port, lambda: bus.ready), contextlib.AsyncExitStack() as opened:
            opened.push_async_callback(model.aclose)
            opened.push_async_callback(bus.stop)
            if await started(_start(service, opens, settings, bus, model, opened), stop):
                log.info("ready")
                asyncio.get_running_loop().call_later(WARM_UP_AFTER, model.load)
                await stop.wait()
                await bus.stop()  # no new work, and what is in hand ends, before what it needs is closed

    run(service, settings, live)


async def _start(  # noqa: PLR0913, PLR0917  what a service consists of
    service: Service,
    opens: Opens,
    settings: Settings,
    bus: Bus,
    model: LateModel,
    opened: contextlib.AsyncExitStack,
) -> None:
    await bus.connect()
    drafts, store = Drafts(bus), Store(bus)
    handler = await opened.enter_async_context(opens(Here(settings, bus, store)))
    worker = Worker(Kit(service, store, bus.log, model, drafts, settings), handler)
    bus.broker.subscriber(durable=service)(worker.on_delivery)
    await drafts.start()
    await bus.answer(f"{PING}.{service}", _pong)
    await bus.subscribe("feed.*.*.session.stopped", worker.on_stopped)
    await bus.start()


async def _pong(_: str, __: bytes) -> bytes:
    return b"ok"


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
