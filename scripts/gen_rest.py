"""docs/openapi.json: what the gateway serves as /openapi.json."""

from functools import cache
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from services.gateway.app import build
from services.gateway.late_log import LateLog
from shared.bus import Bus
from shared.settings import Settings
from shared.store import Store

NO_PAGE = Path("/nonexistent")


@cache
def openapi() -> dict[str, Any]:
    """Of a gateway that is not connected to anything."""
    settings = Settings(parley_auth="none", agent_host="127.0.0.1", parley_secret=SecretStr("x" * 32))
    bus = Bus(settings, "docs")
    return build(settings, bus, Store(bus), LateLog(bus), page=NO_PAGE).openapi()
