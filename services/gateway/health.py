"""Is the process alive, and can it do its work?"""

from fastapi import APIRouter, Response

from services.gateway.models import Alive, Readiness
from services.gateway.state import Here

router = APIRouter()


@router.get("/healthz")
async def alive() -> Alive:
    """The process runs; what it depends on may not."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(here: Here, response: Response) -> Readiness:
    """Everything a session needs is there. A page that is not built is told, but does not count."""
    checks = await here.readiness.checks()
    is_ready = all(text == "ok" for text in checks.values())
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, checks=checks | {"page": here.page})
