"""Connections to NATS: they reconnect for ever, and log when they are down."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import nats.errors
import structlog
from nats.aio.client import Client

from shared.bus.topology import MIN_PAYLOAD
from shared.bus.users import INBOX, inbox
from shared.settings import Settings

log = structlog.get_logger("bus")
PING_INTERVAL = 2  # seconds
RECONNECT_WAIT = 0.25  # seconds between two attempts to reconnect
LOG_INTERVAL = 5.0  # seconds between two log lines about an unreachable server
FORBIDDEN = 77  # exit code after a permissions violation: see shared/services.py
VIOLATION = "permissions violation"
# A responder may publish to a requester's inbox only over the connection that received the request. After a
# reconnection the server refuses the answer, and the requester retries. Services publish to others' inboxes only to
# answer.
LATE_ANSWER = f'publish to "{INBOX.lower()}'


class Address(NamedTuple):
    """The servers and the login. A token without a user stays in the URLs."""

    servers: list[str]
    user: str = ""
    password: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of nats.connect. The login given this way also applies to servers that the cluster announces."""
        known = {"user": self.user, "password": self.password} if self.user else {}
        return {"servers": self.servers, "inbox_prefix": inbox(self.user), **known}


def address(settings: Settings) -> Address:
    """NATS_URL may name several servers of one cluster, separated by commas; the client uses one that answers."""
    urls = [url for part in settings.nats_url.split(",") if (url := part.strip())]
    user, _, password = urls[0].rpartition("@")[0].rpartition("//")[2].partition(":") if urls else ("", "", "")
    return Address([_without_login(url) for url in urls], user, password) if password else Address(urls)


def _without_login(url: str) -> str:
    scheme, slashes, rest = url.rpartition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"


def exit_forbidden(name: str, error: Exception) -> None:
    """End the process: its NATS user may not do this, so the configuration or the program is wrong."""
    hint = "its NATS user may not do this: is NATS_URL another service's, or the server's list that of another version?"
    log.critical("nats_forbidden", connection=name, error=str(error), hint=hint)
    os._exit(FORBIDDEN)


def options(name: str) -> dict[str, Any]:
    """Options of the bus's and FastStream's connections: reconnect for ever, notice a dead peer within 6 s."""
    last_logged: dict[str, float] = {}

    async def on_error(error: Exception) -> None:
        """Log each error at most once per LOG_INTERVAL: an unreachable server reports it four times a second."""
        text = str(error).lower()
        if VIOLATION in text and LATE_ANSWER in text:
            log.warning("answer_not_sent", connection=name, error=str(error), hint="the server forgot who had asked")
            return
        if VIOLATION in text:
            exit_forbidden(name, error)
        now = time.monotonic()
        if now - last_logged.get(repr(error), -LOG_INTERVAL) >= LOG_INTERVAL:
            last_logged.clear()
            last_logged[repr(error)] = now
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
        "reconnect_time_wait": RECONNECT_WAIT,
        "connect_timeout": 2,
        "ping_interval": PING_INTERVAL,
        "max_outstanding_pings": 2,
    }


async def connect(settings: Settings, name: str, on_reconnect: Callable[[], Awaitable[None]]) -> Client:
    """A connection without a buffer: while it is down a publish fails at once, and nothing is sent late."""
    defaults = options(name)

    async def reconnected() -> None:
        await defaults["reconnected_cb"]()
        await on_reconnect()

    arguments = address(settings).options | defaults | {"reconnected_cb": reconnected, "pending_size": 0}

    async def attempt() -> Client:
        client = Client()

        async def disconnected() -> None:
            if not client.is_closed:  # closing it is no trouble, and a command of the terminal does so at its end
                await defaults["disconnected_cb"]()

        await client.connect(**arguments | {"disconnected_cb": disconnected})
        if problem := payload_problem(client):
            await client.close()
            raise nats.errors.Error(problem)
        return client

    return await retry_until_connected(name, attempt)


def payload_problem(client: Client) -> str:
    """Why this server's message limit is too small for Parley, and what to do; "" if it is not."""
    if client.max_payload >= MIN_PAYLOAD:
        return ""
    return (
        f"max_payload is {client.max_payload} bytes, and an event needs up to {MIN_PAYLOAD}: "
        "set `max_payload: 4MB` in the configuration of nats-server, and reload it"
    )


async def retry_until_connected[T](name: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Retry until the attempt succeeds: a server that is not up yet must not crash the process."""
    waited = 0.0
    while True:
        try:
            async with asyncio.timeout(LOG_INTERVAL):
                return await attempt()
        except (OSError, TimeoutError, nats.errors.Error) as error:
            waited += LOG_INTERVAL
            log.warning("waiting_for_nats", connection=name, error=str(error) or repr(error))
            await asyncio.sleep(0.25)
