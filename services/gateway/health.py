"""Is the process alive, and can it do its work?"""

import asyncio
from collections.abc import Awaitable

from fastapi import APIRouter, Response

from services.gateway.models import Alive, Readiness
from services.gateway.ports import query
from services.gateway.state import Gateway, Here
from services.gateway.trouble import AWAY, Trouble
from shared.store_api import HEALTH, Health

CHECK_TIME = 2.0  # seconds
PROBE = "readiness-probe"  # no session has this id: reading it only asks whether the stream answers

router = APIRouter()


@router.get("/healthz")
async def alive() -> Alive:
    """The process runs; what it depends on may not."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(here: Here, response: Response) -> Readiness:
    """Everything a session needs is there. A page that is not built is told, but does not count."""
    names = ("nats", "stream", "plan_store")
    told = await asyncio.gather(_nats(here), _checked(_stream(here)), _checked(_plan_store(here)))
    is_ready = all(text == "ok" for text in told)
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, checks=dict(zip(names, told, strict=True)) | {"page": here.page})


async def _nats(here: Gateway) -> str:
    return "ok" if here.core.bus.ready else f"no connection to NATS at {here.nats}"


async def _stream(here: Gateway) -> None:
    await here.core.log.read(PROBE, limit=1)


async def _plan_store(here: Gateway) -> None:
    await query(here.core.store, HEALTH, Health())


async def _checked(check: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(CHECK_TIME):
            await check
    except (*AWAY, Trouble) as error:
        return str(error) or "no answer in time"
    return "ok"
