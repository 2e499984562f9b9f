"""Is the process alive, and can it do its work?"""

import asyncio
from collections.abc import Awaitable

import structlog
from fastapi import APIRouter, Response

from services.gateway.models import Alive, Readiness
from services.gateway.ports import query
from services.gateway.state import Gateway, Here
from services.gateway.trouble import AWAY, Trouble
from shared.bus.errors import BusDown
from shared.store_api import HEALTH, Health

CHECK_TIME = 2.0  # seconds
PROBE = "readiness-probe"  # no session has this id: reading it only asks whether the stream answers

log = structlog.get_logger("gateway")
router = APIRouter()


@router.get("/healthz")
async def alive() -> Alive:
    """The process runs; what it depends on may not."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(here: Here, response: Response) -> Readiness:
    """Everything a session needs is there. A page that is not built is told, but does not count."""
    found = await asyncio.gather(*(_checked(name, check(here), words) for name, check, words in CHECKS))
    checks = {name: text for (name, _, _), text in zip(CHECKS, found, strict=True)}
    is_ready = all(text == "ok" for text in found)
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, checks=checks | {"page": here.page})


async def _nats(here: Gateway) -> None:
    if not here.core.bus.ready:
        raise BusDown("not connected")


async def _stream(here: Gateway) -> None:
    await here.core.log.read(PROBE, limit=1, leader=True)


async def _plan_store(here: Gateway) -> None:
    await query(here.core.store, HEALTH, Health())


# Anybody may ask, so the words are fixed: what the libraries say, with hosts and users in it, is for the log.
CHECKS = (
    ("nats", _nats, "no connection: is nats-server up, and NATS_URL right?"),
    ("stream", _stream, "the log cannot be read: has `parley provision` been run?"),
    ("plan_store", _plan_store, "no answer: are plan_store and its database up?"),
)


async def _checked(name: str, check: Awaitable[None], words: str) -> str:
    try:
        async with asyncio.timeout(CHECK_TIME):
            await check
    except (*AWAY, Trouble) as error:
        log.info("not_ready", check=name, error=repr(error))
        return words
    return "ok"
