"""The retail store's tools, each call in its session's world."""

from collections.abc import Iterable
from functools import partial

from retail.specs import SPECS
from retail.store import World, Worlds
from services.executor.tools import Arguments, Call, Result, Tool
from shared.domain.session import Session
from shared.tools import Preview


class Retail:
    """A source of tools."""

    def __init__(self, worlds: Worlds) -> None:
        self._worlds = worlds
        self._tools = tuple(
            Tool(spec, partial(self._run, spec.name), partial(self._preview, spec.name)) for spec in SPECS
        )

    def tools(self) -> Iterable[Tool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return ()

    def _world(self, session: Session) -> World:
        return self._worlds.world(session.id if session.settings.world == "own" else "shared")

    async def _run(self, name: str, call: Call) -> Result:
        said = await self._world(call.session).call(name, call.arguments, key=call.key)
        refused = said.startswith("Error: ") or said.startswith("Unknown action ")
        return Result(ok=False, error=said) if refused else Result(ok=True, value=said)

    async def _preview(self, name: str, session: Session, arguments: Arguments) -> Preview:
        return await self._world(session).preview(name, arguments)
