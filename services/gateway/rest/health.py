"""Is the process alive, and can it do its work?"""

from fastapi import APIRouter, Response

from services.gateway.readiness import CHECKS
from services.gateway.rest.models import Alive, Readiness
from services.gateway.state import Here

router = APIRouter()


@router.get("/healthz")
async def alive() -> Alive:
    """The process runs; what it depends on may not."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(here: Here, response: Response) -> Readiness:
    """The gateway, NATS and plan_store work. Workers that do not answer and a page that is not built are named, too."""
    checks = await here.readiness.checks()
    is_ready = all(checks[name] == "ok" for name, *_ in CHECKS)
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, checks=checks | {"page": here.page})
