"""docs/openapi.json: the document that the gateway serves as /openapi.json."""

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from services.gateway.app import build
from services.gateway.session_log import DeferredLog
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient

NO_PAGE = Path("/nonexistent")


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI document of an unconnected gateway."""
    settings = Settings(parley_auth="none", agent_host="127.0.0.1", parley_secret=SecretStr("x" * 32))
    bus = Bus(settings, "docs")
    return build(settings, bus, PlanStoreClient(bus), DeferredLog(bus), page=NO_PAGE).openapi()
