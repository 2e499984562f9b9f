"""The generated retail store, created once per process. Tests that write create their own."""

from typing import Any

from packs.retail.generate import generate
from packs.retail.pack import Retail
from packs.retail.store import Worlds
from parley.protocol.tools import CheckCalls, Violations
from services.executor.sources.packs import PackSource
from services.executor.tool_requests import ToolRequests
from services.executor.tools import Registry
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore

STORE = generate()
_CHECKS = ToolRequests(Registry(PackSource((Retail(),))), InMemoryStore(InMemoryLog()))


async def checked(ask: CheckCalls) -> tuple[str, ...]:
    """The executor's answer to `tools.check`: why these calls of the store's tools are forbidden."""
    answer = await _CHECKS.check("tools.check", ask.model_dump_json().encode())
    return Violations.model_validate_json(answer).violations


async def orders_now(settings: Settings, world: str = "shared") -> dict[str, Any]:
    """The orders as this world has them now."""
    worlds = Worlds(settings.retail_url, lambda: STORE)
    await worlds.open()
    try:
        orders: Any = (await worlds.world(world).dump())["orders"]
    finally:
        await worlds.close()
    return dict(orders)
