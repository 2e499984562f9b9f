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


async def store_now(settings: Settings, world: str = "shared") -> dict[str, Any]:
    """All documents of this world as they are now."""
    worlds = Worlds(settings.retail_url, lambda: STORE)
    await worlds.open()
    try:
        return dict(await worlds.world(world).dump())
    finally:
        await worlds.close()


async def orders_now(settings: Settings, world: str = "shared") -> dict[str, Any]:
    orders: dict[str, Any] = (await store_now(settings, world))["orders"]
    return orders
