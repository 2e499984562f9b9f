"""Readiness checks. Concurrent requests share one run, as anyone may ask as often as they like."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from services.gateway.api_errors import UNAVAILABLE, ApiError
from services.gateway.ports import Core, query
from shared.bus.errors import BusUnavailable
from shared.services import PING, WORKERS
from shared.store_api import HEALTH, Health
from shared.unavailable import database_advice

CHECK_TIMEOUT = 1.5  # seconds; probes usually wait two
RESULT_TTL = 1.0  # seconds that a result is reused
PLAN_STORE = "plan_store"
STORAGE = "storage"  # reported as the state of the stream
PROBE = "readiness-probe"  # no session has this id: reading it only tests whether the stream answers

type Check = tuple[str, Callable[[Core], Awaitable[None]], str]  # name, a check that raises if it fails, advice

log = structlog.get_logger("gateway")


class ReadinessChecker:
    """Runs the checks at most once at a time and reuses their results for RESULT_TTL."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._check_task: asyncio.Task[dict[str, str]] | None = None
        self._fresh_until = 0.0

    async def checks(self) -> dict[str, str]:
        """By check: "ok", or what to do about it. Only those of REQUIRED count for readiness."""
        if self._check_task is None or (self._check_task.done() and time.monotonic() >= self._fresh_until):
            self._check_task = asyncio.create_task(self._run_checks(), name="readiness")
        return await asyncio.shield(self._check_task)

    async def _run_checks(self) -> dict[str, str]:
        every = (*REQUIRED_CHECKS, *OPTIONAL_CHECKS)
        store = asyncio.create_task(_store_checks(self._core))
        results = await asyncio.gather(*(_run_check(name, check(self._core), words) for name, check, words in every))
        self._fresh_until = time.monotonic() + RESULT_TTL
        checks = {name: text for (name, _, _), text in zip(every, results, strict=True)}
        storage = checks.pop(STORAGE)
        if checks["stream"] == "ok":
            checks["stream"] = storage
        return checks | await store


async def _nats(core: Core) -> None:
    if not core.bus.ready:
        raise BusUnavailable("not connected")


async def _stream(core: Core) -> None:
    await core.log.read(PROBE, limit=1, leader=True)


async def _storage(core: Core) -> None:
    await core.log.check_writable()


async def _store_checks(core: Core) -> dict[str, str]:
    """What plan_store says of its database, and of the log. Only its database counts for readiness."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            report = await query(core.store, HEALTH, Health())
    except (*UNAVAILABLE, ApiError) as error:
        log.info("not_ready", check=PLAN_STORE, error=repr(error))
        words = database_advice(str(error)) or "no answer: are plan_store and its database up?"
        return {PLAN_STORE: words, "upgrade": words}
    upgrade = _UPGRADE if report.waiting_for_upgrade else "ok"
    return {PLAN_STORE: "ok", "upgrade": upgrade, **report.problems}


async def _worker_answers(worker: str, core: Core) -> None:
    await core.bus.request(f"{PING}.{worker}", b"", timeout=CHECK_TIMEOUT)


# Anyone may ask, so the texts are fixed: errors of libraries, which contain hosts and users, go to the log.
REQUIRED_CHECKS: tuple[Check, ...] = (
    ("nats", _nats, "no connection: is nats-server up, and NATS_URL right?"),
    ("stream", _stream, "the log cannot be read: has `parley provision` been run?"),
    (
        STORAGE,
        _storage,
        "NATS stores nothing: is its disk full? Make room, then restart nats-server (`parley up` restarts its own)",
    ),
)
# The page works without these, so they do not count for readiness.
OPTIONAL_CHECKS: tuple[Check, ...] = (
    *(
        (
            worker,
            partial(_worker_answers, worker),
            "no answer: is one up? If so, is its event loop blocked? See its log",
        )
        for worker in WORKERS
    ),
)
REQUIRED = ("nats", "stream", PLAN_STORE)
_UPGRADE = "a newer release has continued some sessions, and they wait for it: upgrade all services"


async def _run_check(name: str, check: Awaitable[None], words: str) -> str:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            await check
    except (*UNAVAILABLE, ApiError) as error:
        log.info("not_ready", check=name, error=repr(error))
        return words
    return "ok"
