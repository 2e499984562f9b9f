"""Connections to NATS that never give up, and say so in the log when they are down."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import nats
import nats.errors
import structlog
from nats.aio.client import Client

from shared.settings import Settings

log = structlog.get_logger("bus")
PING_EVERY = 5
PATIENCE_LOGGED = 5.0  # seconds between two lines about a server that is not there


def options(name: str) -> dict[str, Any]:
    """What both our own connection and FastStream's get: reconnect for ever, notice a dead peer within 15 s."""

    told: dict[str, float] = {}

    async def on_error(error: Exception) -> None:
        """A server that is away is the same error four times a second."""
        now = time.monotonic()
        if now - told.get(repr(error), -PATIENCE_LOGGED) >= PATIENCE_LOGGED:
            told.clear()
            told[repr(error)] = now
            log.warning("nats_error", connection=name, error=repr(error))

    async def on_disconnect() -> None:
        log.warning("nats_disconnected", connection=name)

    async def on_reconnect() -> None:
        log.info("nats_reconnected", connection=name)

    return {
        "name": name,
        "error_cb": on_error,
        "disconnected_cb": on_disconnect,
        "reconnected_cb": on_reconnect,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": 0.25,
        "connect_timeout": 2,
        "ping_interval": PING_EVERY,
        "max_outstanding_pings": 2,
    }


async def connect(settings: Settings, name: str, on_reconnect: Callable[[], Awaitable[None]]) -> Client:
    """A connection that does not buffer while it is down: a publish then fails at once and nothing is sent late."""
    wanted = options(name)

    async def reconnected() -> None:
        await wanted["reconnected_cb"]()
        await on_reconnect()

    return await until_there(
        name,
        lambda: nats.connect(settings.nats_url, **(wanted | {"reconnected_cb": reconnected, "pending_size": 0})),
    )


async def until_there[T](name: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until it works; a server that is missing at the start is a wait, not a crash."""
    waited = 0.0
    while True:
        try:
            async with asyncio.timeout(PATIENCE_LOGGED):
                return await attempt()
        except (OSError, TimeoutError, nats.errors.Error) as error:
            waited += PATIENCE_LOGGED
            log.warning("waiting_for_nats", connection=name, error=str(error) or repr(error))
            await asyncio.sleep(0.25)
