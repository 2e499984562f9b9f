"""A user who also sees drafts, for tests that interrupt a conversation at a certain moment."""

import asyncio
from collections.abc import Callable

from parley.protocol.server import Delta
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from tests.support.stack import Person
from tests.support.timeouts import WAIT_TIMEOUT

REQUEST = "Help me create a simple calculator"


class Watcher(Person):
    """A user who also sees drafts."""

    def __init__(self, bus: Bus, session_id: str) -> None:
        super().__init__(bus, session_id)
        self._drafts: asyncio.Queue[Delta] = asyncio.Queue()

    async def watch(self) -> None:
        async def on_delta(_: str, body: bytes) -> None:
            self._drafts.put_nowait(Delta.model_validate_json(body))

        await self._bus.subscribe(f"delta.{self.id}.>", on_delta)

    async def drafting(self, kind: str, *, waits: bool = False) -> None:
        """Wait for the next draft of this kind; `waits`: that the model's server asks to wait."""
        while not self._drafts.empty():
            self._drafts.get_nowait()
        async with asyncio.timeout(WAIT_TIMEOUT):
            while (delta := await self._drafts.get()).kind != kind or (delta.wait is not None) is not waits:
                pass

    async def edits(self, code: str) -> None:
        session = (await self.load()).session
        assert session.code
        await self.does(c.EditCode(base=session.code.version, code=code))

    async def event_types(self) -> list[str]:
        return [event.type for event in await self.events() if event.type != "usage.recorded"]


def in_review(number: int) -> Callable[[Session], bool]:
    """Whether the code with this number is in review."""
    return lambda session: session.phase == "awaiting_approval" and session.counts.codes == number
