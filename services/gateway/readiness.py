"""Can a session be worked on? Looked at once for all who ask: anybody may, as often as they like."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from services.gateway.ports import Core, query
from services.gateway.trouble import AWAY, Trouble
from shared.bus.errors import BusDown
from shared.services import PING, WORKERS
from shared.store_api import HEALTH, Health

CHECK_TIME = 1.5  # seconds; who asks usually waits two
KEPT = 1.0  # seconds that what was found is told again
PROBE = "readiness-probe"  # no session has this id: reading it only asks whether the stream answers

type Check = tuple[str, Callable[[Core], Awaitable[None]], str]  # name, what raises where it fails, words for that

log = structlog.get_logger("gateway")


class Readiness:
    """One look at a time; who asks meanwhile, or right after it, is told what it finds."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._look: asyncio.Task[dict[str, str]] | None = None
        self._until = 0.0

    async def checks(self) -> dict[str, str]:
        """By name "ok", or what to do about it. Only those in CHECKS keep a session from being worked on."""
        if self._look is None or (self._look.done() and time.monotonic() >= self._until):
            self._look = asyncio.create_task(self._found(), name="readiness")
        return await asyncio.shield(self._look)

    async def _found(self) -> dict[str, str]:
        every = (*CHECKS, *WORKING)
        found = await asyncio.gather(*(_checked(name, check(self._core), words) for name, check, words in every))
        self._until = time.monotonic() + KEPT
        checks = {name: text for (name, _, _), text in zip(every, found, strict=True)}
        unknown = {"upgrade": checks["plan_store"]} if checks["plan_store"] != "ok" else {}
        return checks | unknown


async def _nats(core: Core) -> None:
    if not core.bus.ready:
        raise BusDown("not connected")


async def _stream(core: Core) -> None:
    await core.log.read(PROBE, limit=1, leader=True)


async def _plan_store(core: Core) -> None:
    await query(core.store, HEALTH, Health())


async def _upgraded(core: Core) -> None:
    if waiting := (await query(core.store, HEALTH, Health())).waiting_for_upgrade:
        raise Trouble("upgrade_needed", f"{waiting} sessions wait for a newer release")


async def _answers(worker: str, core: Core) -> None:
    await core.bus.request(f"{PING}.{worker}", b"", timeout=CHECK_TIME)


# Anybody may ask, so the words are fixed: what the libraries say, with hosts and users in it, is for the log.
CHECKS: tuple[Check, ...] = (
    ("nats", _nats, "no connection: is nats-server up, and NATS_URL right?"),
    ("stream", _stream, "the log cannot be read: has `parley provision` been run?"),
    ("plan_store", _plan_store, "no answer: are plan_store and its database up?"),
)
# Without one of these the page still works, so they do not count.
WORKING: tuple[Check, ...] = (
    *(
        (worker, partial(_answers, worker), "no answer: is one up? If so, is its event loop blocked? See its log")
        for worker in WORKERS
    ),
    ("upgrade", _upgraded, "a newer release has continued some sessions, and they wait for it: upgrade all services"),
)


async def _checked(name: str, check: Awaitable[None], words: str) -> str:
    try:
        async with asyncio.timeout(CHECK_TIME):
            await check
    except (*AWAY, Trouble) as error:
        log.info("not_ready", check=name, error=repr(error))
        return words
    return "ok"
