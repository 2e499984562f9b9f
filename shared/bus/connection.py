"""Connections to NATS that never give up, and say so in the log when they are down."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import nats
import nats.errors
import structlog
from nats.aio.client import Client

from shared.bus.topology import MIN_PAYLOAD
from shared.bus.users import INBOX, inbox
from shared.settings import Settings

log = structlog.get_logger("bus")
PING_EVERY = 2  # seconds
PATIENCE_LOGGED = 5.0  # seconds between two lines about a server that is not there


FORBIDDEN = 77  # the exit code of a program that does what its user may not: look at shared/services.py
VIOLATION = "permissions violation"
# Who answers may publish to the inbox that asked, until the connection is lost: what was asked over the one before is
# refused, and whoever asked asks again. No service publishes to another's inbox but to answer.
LATE = f'publish to "{INBOX.lower()}'


class Address(NamedTuple):
    """Where NATS is, and as whom to come. A token, which names nobody, stays in the URLs."""

    servers: list[str]
    user: str = ""
    password: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """For nats.connect. Given so, the login also holds for servers that the cluster tells of itself."""
        known = {"user": self.user, "password": self.password} if self.user else {}
        return {"servers": self.servers, "inbox_prefix": inbox(self.user), **known}


def address(settings: Settings) -> Address:
    """NATS_URL may name several servers of one cluster, with commas; the client keeps to one that answers."""
    urls = [url for part in settings.nats_url.split(",") if (url := part.strip())]
    user, _, password = urls[0].rpartition("@")[0].rpartition("//")[2].partition(":") if urls else ("", "", "")
    return Address([_bare(url) for url in urls], user, password) if password else Address(urls)


def _bare(url: str) -> str:
    scheme, slashes, rest = url.rpartition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"


def forbidden(name: str, error: Exception) -> None:
    """This program is not what its user is for: a fault, or somebody else's hand. It must not go on."""
    hint = "its NATS user may not do this: is NATS_URL another service's, or the server's list that of another version?"
    log.critical("nats_forbidden", connection=name, error=str(error), hint=hint)
    os._exit(FORBIDDEN)


def options(name: str) -> dict[str, Any]:
    """What both our own connection and FastStream's get: reconnect for ever, notice a dead peer within 6 s."""

    told: dict[str, float] = {}

    async def on_error(error: Exception) -> None:
        """A server that is away is the same error four times a second."""
        said = str(error).lower()
        if VIOLATION in said and LATE in said:
            log.warning("answer_not_sent", connection=name, error=str(error), hint="the server forgot who had asked")
            return
        if VIOLATION in said:
            forbidden(name, error)
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
    told = options(name)

    async def reconnected() -> None:
        await told["reconnected_cb"]()
        await on_reconnect()

    wanted = address(settings).options | told | {"reconnected_cb": reconnected, "pending_size": 0}

    async def attempt() -> Client:
        client = await nats.connect(**wanted)
        if problem := payload_problem(client):
            await client.close()
            raise nats.errors.Error(problem)
        return client

    return await until_there(name, attempt)


def payload_problem(client: Client) -> str:
    """Why this server's messages are too small for Parley, and what to do; "" where they are not."""
    if client.max_payload >= MIN_PAYLOAD:
        return ""
    return (
        f"max_payload is {client.max_payload} bytes, and an event needs up to {MIN_PAYLOAD}: "
        "set `max_payload: 4MB` in the configuration of nats-server, and reload it"
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
