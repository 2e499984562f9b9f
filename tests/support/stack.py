"""The four workers in this process, with a scripted model, on a real or an in-memory bus."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from parley.events import SessionEvent
from parley.events.values import Service, SessionSettings, Workflow
from services.executor import app as executor
from services.gateway import app as gateway
from services.generator import app as generator
from services.plan_store.app import PlanStore
from services.planner import app as planner
from services.verifier import app as verifier
from shared.bus import Bus, Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.rules.decide import AnyCommand
from shared.llm import Model, ScriptedModel
from shared.llm.scripted import Scripted
from shared.log import LogUnavailable, SessionAtPosition
from shared.retry import retry_while_unavailable
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreReader
from shared.story import Story
from shared.testing import InMemoryStore
from shared.worker import Handler, WorkerApplication, WorkerOverrides, worker_application
from tests.support.bus import FakeBus
from tests.support.gateway import gateway_settings, serving
from tests.support.stories import approve
from tests.support.timeouts import WAIT_TIMEOUT

Build = Callable[[Settings, WorkerOverrides], WorkerApplication]
BUILD: dict[Service, Build] = {
    "planner": planner.build,
    "generator": generator.build,
    "verifier": verifier.build,
    "executor": executor.build,
}


def doing(service: Service, handler: Handler) -> Build:
    """A worker application with this handler."""

    def build(settings: Settings, parts: WorkerOverrides) -> WorkerApplication:
        app = worker_application(service, settings, parts)

        @app.broker.subscriber(durable=service)
        async def work(delivery: Delivery) -> None:
            await app.work(delivery, handler)

        return app

    return build


@asynccontextmanager
async def working(
    settings: Settings,
    model: Model,
    *services: Service,
    handlers: dict[Service, Handler] | None = None,
    within: tuple[FakeBus, StoreReader] | None = None,
    store: Callable[[Bus], StoreReader] = lambda bus: InMemoryStore(bus.log),
) -> AsyncIterator[list[Bus]]:
    """Run these services (default: all four) until the block ends, each on its own bus, or all on the bus of `within`.

    `store` creates their client of plan_store; the default one folds the log and has no library of plans.
    """
    apps: list[WorkerApplication] = []
    for service in services or tuple(BUILD):
        build = doing(service, handlers[service]) if handlers else BUILD[service]
        bus = cast(Bus, within[0]) if within else Bus(settings, service)
        apps.append(build(settings, WorkerOverrides(bus, within[1] if within else store(bus), model)))
    try:
        for app in apps:
            await app.start()
        yield [app.bus for app in apps]
    finally:
        await asyncio.gather(*(app.stop() for app in apps))


@asynccontextmanager
async def running_plan_store(settings: Settings) -> AsyncIterator[PlanStore]:
    """plan_store on the real bus, until the block ends."""
    service = PlanStore(settings)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


@asynccontextmanager
async def serving_gateway(settings: Settings, **chosen: Any) -> AsyncIterator[str]:
    """A gateway and its plan_store on the real bus; yields `host:port`. `chosen` are the gateway's other settings."""
    config = gateway_settings(nats_url=settings.nats_url, parley_home=settings.parley_home, **chosen)
    bus = Bus(config, "gateway")
    app = gateway.build(config, bus, PlanStoreClient(bus), bus.log)
    async with running_plan_store(settings), serving(app) as address:
        yield address


late_reads = retry_while_unavailable(LogUnavailable, timeout=WAIT_TIMEOUT)  # a busy machine is slow


class Person:
    """A user of one session, who waits for events and never sleeps: `timeout` seconds for each."""

    def __init__(self, bus: Bus, session_id: str, *, timeout: float = WAIT_TIMEOUT) -> None:
        self.id = session_id
        self._timeout = timeout
        self._bus = bus
        self._story = Story(session_id, log=bus.log)
        self._seen = 0  # the version up to which earlier states no longer count

    async def load(self) -> SessionAtPosition:
        return await self._story.load_at_position()

    async def says(self, text: str, workflow: Workflow | None = None, **settings: Any) -> SessionEvent:
        """Send a message; the first one chooses the workflow and the settings of the session."""
        return await self.does(c.Say(text=text, workflow=workflow, settings=SessionSettings(**settings)))

    async def approves(self) -> Session:
        """Approve the plan or code that is in review, or will be. Returns the session as it was before."""
        session = await self.phase("awaiting_approval", "failed")
        assert session.phase == "awaiting_approval", session.failure
        await self.does(approve)
        return session

    async def awaits_decision(self) -> Session:
        """The session once some of its actions wait for approval."""
        session = await self.sees(lambda now: bool(undecided_actions(now.turn)) or now.phase in ("resting", "failed"))
        assert undecided_actions(session.turn), (session.failure, session.answer.text)
        return session

    async def allows(self) -> Session:
        """Approve all actions that wait, or will wait, for approval. Returns the session as it was before."""
        session = await self.awaits_decision()
        for action in undecided_actions(session.turn):
            version = (await self.load()).session.version
            await self.does(c.Approve(version=version, action_id=action.spec.id, hash=action.hash))
        return session

    async def does(self, command: AnyCommand | Callable[[Session], AnyCommand]) -> SessionEvent:
        """Commit this command as the user, or as the due service."""
        await self._story.commit(command)
        event = self._story.events[-1]
        self._seen = event.version - 1
        return event

    async def sees(self, condition: Callable[[Session], bool]) -> Session:
        """The newest state if it meets the condition, else the first one that does since the last command or wait.

        Every state is checked: on a busy machine a short one may be over before this process reads it.
        """
        changed = asyncio.Event()

        async def stored(_: str, __: bytes) -> None:
            changed.set()

        feed = await self._bus.subscribe(f"feed.{self.id}.>", stored)
        try:
            async with asyncio.timeout(self._timeout):
                while not (met := [state for state in await self._states() if condition(state)]):
                    await changed.wait()
                    changed.clear()
                self._seen = met[0].version
                return met[0]
        except TimeoutError:
            session = (await self.load()).session
            raise AssertionError(f"still {session.phase}, version {session.version}, {session.failure}") from None
        finally:
            await feed.stop()

    @late_reads
    async def _states(self) -> list[Session]:
        """The newest state, then those since the last command or wait, oldest first."""
        states = await InMemoryStore(self._bus.log).states(self.id) or [Session(self.id)]
        return [states[-1], *(state for state in states if state.version > self._seen)]

    async def phase(self, *phases: str) -> Session:
        """Wait for one of these phases, in which no message is left to be answered."""
        return await self.sees(lambda session: session.phase in phases and session.reply is None)

    @late_reads
    async def events(self) -> list[SessionEvent]:
        return await InMemoryStore(self._bus.log).events(self.id)


@asynccontextmanager
async def open_session(
    settings: Settings,
    bus: Bus,
    session_id: str,
    *replies: Scripted,
    text: str,
    workflow: Workflow,
    **session_settings: Any,
) -> AsyncIterator[tuple[Person, ScriptedModel]]:
    """A user who has sent this request to the four services, whose model gives these replies."""
    model = ScriptedModel(*replies)
    async with working(settings, model):
        ann = Person(bus, session_id)
        await ann.says(text, workflow, **session_settings)
        yield ann, model
