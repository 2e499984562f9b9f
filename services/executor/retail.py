"""The retail store's tools, each call in its session's world."""

from collections.abc import Iterable
from functools import partial

from packs.retail.specs import SPECS
from packs.retail.store import SHARED, World, Worlds, WorldsDown

from services.executor.tools import Arguments, Call, Result, Tool
from shared.domain.session import Session
from shared.retry import retry_while_unavailable
from shared.tools import Preview

SECONDS = 60.0


def own_world(session_id: str) -> str:
    """The name of a session's own world: no session's id makes it that of another world."""
    return f"session:{session_id}"


class Retail:
    """A source of tools."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._tools = tuple(
            Tool(spec, partial(self._run, spec.name), partial(self._preview, spec.name), seconds=SECONDS)
            for spec in SPECS
        )

    def tools(self) -> Iterable[Tool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return ()

    def _world(self, session: Session) -> World:
        return self._worlds.world(own_world(session.id) if session.settings.world == "own" else SHARED)

    async def _run(self, name: str, call: Call) -> Result:
        said = await self._reply(name, call)
        refused = said.startswith("Error: ") or said.startswith("Unknown action ")
        return Result(ok=False, error=said) if refused else Result(ok=True, value=said)

    @retry_while_unavailable(WorldsDown)
    async def _reply(self, name: str, call: Call) -> str:
        """While the database is away the call waits; with its key it may be made again whatever became of it."""
        return await self._world(call.session).call(name, call.arguments, key=call.key)

    async def _preview(self, name: str, session: Session, arguments: Arguments) -> Preview:
        return await self._world(session).preview(name, arguments)
