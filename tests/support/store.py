"""The generated retail store, created once per process. Tests that write create their own."""

from packs.retail.generate import generate
from packs.retail.pack import Retail
from parley.protocol.tools import CheckCalls, Violations
from services.executor.sources.packs import PackSource
from services.executor.tool_requests import ToolRequests
from services.executor.tools import Registry
from shared.testing import InMemoryLog, InMemoryStore

STORE = generate()
_CHECKS = ToolRequests(Registry(PackSource((Retail(),))), InMemoryStore(InMemoryLog()))


async def checked(ask: CheckCalls) -> tuple[str, ...]:
    """The executor's answer to `tools.check`: why these calls of the store's tools are forbidden."""
    answer = await _CHECKS.check("tools.check", ask.model_dump_json().encode())
    return Violations.model_validate_json(answer).violations
