"""Liveness and readiness probes."""

from fastapi import APIRouter, Response

from services.gateway.readiness import REQUIRED
from services.gateway.rest.models import Alive, Readiness
from services.gateway.state import GatewayDep

router = APIRouter()


@router.get("/healthz")
async def alive() -> Alive:
    """The process is alive. Its dependencies may not be."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(gateway: GatewayDep, response: Response) -> Readiness:
    """Whether the gateway, NATS and plan_store work. Also lists silent workers, and a page that is not built."""
    checks = await gateway.readiness.checks()
    is_ready = all(checks[name] == "ok" for name in REQUIRED)
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, checks=checks | {"page": gateway.page})
