"""The four workers in this process, with the model of a test, on a real bus or on one in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

from services.executor.app import executing
from services.generator.handlers import write
from services.planner.app import planning
from services.verifier.handlers import verify
from shared.bus import Bus
from shared.domain.decide import AnyCommand
from shared.domain.session import Session
from shared.events import SessionEvent
from shared.events.values import Service
from shared.llm import Model
from shared.log import Loaded
from shared.settings import Settings
from shared.store import Asks
from shared.story import Story
from shared.testing import InMemoryStore
from shared.worker import Drafts, Handler, Here, Kit, Opens, Worker, plain
from tests.support.bus import FakeBus

OPENS: dict[Service, Opens] = {
    "planner": planning,
    "generator": plain(write),
    "verifier": plain(verify),
    "executor": executing,
}


@asynccontextmanager
async def working(
    settings: Settings,
    model: Model,
    *services: Service,
    handlers: dict[Service, Handler] | None = None,
    within: tuple[FakeBus, Asks] | None = None,
) -> AsyncIterator[list[Bus]]:
    """These services (default: all four) run until the block ends, each on its own bus, or all on that of `within`."""
    buses: list[Bus] = []
    async with AsyncExitStack() as opened:
        for service in services or tuple(OPENS):
            bus = cast(Bus, within[0]) if within else Bus(settings, service)
            await bus.connect()
            drafts, store = Drafts(bus), within[1] if within else InMemoryStore(bus.log)
            opens = plain(handlers[service]) if handlers else OPENS[service]
            handler = await opened.enter_async_context(opens(Here(settings, bus, store)))
            worker = Worker(Kit(service, store, bus.log, model, drafts, settings), handler)
            bus.broker.subscriber(durable=service)(worker.on_delivery)
            await drafts.start()
            await bus.subscribe("feed.*.*.session.stopped", worker.on_stopped)
            await bus.start()
            buses.append(bus)
        try:
            yield buses
        finally:
            await asyncio.gather(*(bus.stop() for bus in buses))


class Person:
    """A person in one session, who waits for events and not for time to pass."""

    def __init__(self, bus: Bus, session_id: str) -> None:
        self.id = session_id
        self._bus = bus
        self._story = Story(session_id, log=bus.log)

    async def load(self) -> Loaded:
        return await self._story.loaded()

    async def does(self, command: AnyCommand) -> SessionEvent:
        """Commit this command, in the name of its person or of the service whose turn it is."""
        await self._story.commit(command)
        return self._story.events[-1]

    async def sees(self, wanted: Callable[[Session], bool], *, seconds: float = 40) -> Session:
        """The session once it is as wanted; looks again at every stored event."""
        changed = asyncio.Event()

        async def stored(_: str, __: bytes) -> None:
            changed.set()

        feed = await self._bus.subscribe(f"feed.{self.id}.>", stored)
        try:
            async with asyncio.timeout(seconds):
                while not wanted(session := (await self.load()).session):
                    await changed.wait()
                    changed.clear()
                return session
        except TimeoutError:
            session = (await self.load()).session
            raise AssertionError(f"still {session.phase}, version {session.version}, {session.failure}") from None
        finally:
            await feed.stop()

    async def phase(self, *phases: str, seconds: float = 40) -> Session:
        return await self.sees(lambda session: session.phase in phases, seconds=seconds)

    async def events(self) -> list[SessionEvent]:
        return await InMemoryStore(self._bus.log).events(self.id)
