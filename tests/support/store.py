"""The generated store, made once for all tests of a process. They only read it; a test that writes makes its own."""

from packs.retail.generate import generate
from packs.retail.pack import Retail
from parley.protocol.tools import CheckCalls, Violations
from services.executor.requests import Requests
from services.executor.sources.packs import Packs
from services.executor.tools import Registry
from shared.testing import InMemoryLog, InMemoryStore

STORE = generate()
_CHECKS = Requests(Registry(Packs((Retail(),))), InMemoryStore(InMemoryLog()))


async def checked(ask: CheckCalls) -> tuple[str, ...]:
    """What the executor answers: why these calls of the store's tools are forbidden."""
    answer = await _CHECKS.check("tools.check", ask.model_dump_json().encode())
    return Violations.model_validate_json(answer).violations
