"""Outages: servers, services and models that become unavailable and return, or are killed during work."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from nats.aio.client import DEFAULT_MAX_RECONNECT_ATTEMPTS

from rehearsal.app import build
from services.planner.conversation import draft_plan
from shared.bus import Bus, BusUnavailable, Delivery, connection
from shared.bus.provision import provision
from shared.domain.kernel import commands as c
from shared.environment import child_environment
from shared.llm.client import OpenAIModel
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.worker import Drafts, Worker, WorkerDeps
from tests.support.inbox import Inbox, consuming, store, until_idle
from tests.support.nats import NatsServer, frozen, kill9
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.serving import serving
from tests.support.stack import BUILD, Person, running_plan_store, working
from tests.support.timeouts import WAIT_TIMEOUT
from tests.support.watcher import REQUEST, Watcher, in_review

OUTAGE = 7.0  # seconds


async def test_a_consumer_resumes_after_its_server_is_killed_during_work(
    settings: Settings, nats: NatsServer, bus: Bus
) -> None:
    go, ended = asyncio.Event(), asyncio.Event()

    async def wait_at_first(delivery: Delivery) -> None:
        if delivery.data == b"first":
            await go.wait()
            ended.set()

    inbox, back = Inbox(wait_at_first), asyncio.Event()

    async def returned() -> None:
        back.set()

    bus.on_reconnect(returned)
    async with consuming(settings, inbox):
        await store(bus, b"first")
        await inbox.until(1)
        kill9(nats)
        await asyncio.to_thread(nats.restart)
        go.set()
        await asyncio.wait_for(ended.wait(), WAIT_TIMEOUT)
        await asyncio.wait_for(back.wait(), WAIT_TIMEOUT)
        await store(bus, b"second")
        async with asyncio.timeout(WAIT_TIMEOUT):
            while b"second" not in inbox.bodies:
                await inbox.until(len(inbox.got) + 1)
        await until_idle(bus)
    assert inbox.bodies.count(b"second") == 1


async def test_a_consumer_waits_idly_through_a_long_outage_of_the_server(
    settings: Settings, nats: NatsServer, bus: Bus
) -> None:
    """The outage lasts longer than the client needs to notice a dead connection."""
    inbox, back = Inbox(), asyncio.Event()

    async def returned() -> None:
        back.set()

    bus.on_reconnect(returned)
    async with consuming(settings, inbox):
        await store(bus, b"before")
        await inbox.until(1)
        await until_idle(bus)
        kill9(nats)
        busy = time.process_time()
        await asyncio.sleep(OUTAGE)
        assert time.process_time() - busy < OUTAGE / 4, "waiting uses hardly any CPU time"
        await asyncio.to_thread(nats.restart)
        await asyncio.wait_for(back.wait(), WAIT_TIMEOUT)
        await store(bus, b"after")
        async with asyncio.timeout(WAIT_TIMEOUT):
            while b"after" not in inbox.bodies:
                await inbox.until(len(inbox.got) + 1)


async def test_a_connection_outlasts_more_attempts_than_its_client_makes_by_itself(
    settings: Settings, nats: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "RECONNECT_WAIT", 0.001)
    bus = Bus(settings, "patient")
    await bus.connect()
    kill9(nats)
    async with asyncio.timeout(WAIT_TIMEOUT):
        while all(server.reconnects <= DEFAULT_MAX_RECONNECT_ATTEMPTS + 1 for server in bus.client._server_pool):
            assert not bus.client.is_closed
            await asyncio.sleep(0)
        await asyncio.to_thread(nats.restart)
        while not bus.ready:  # noqa: ASYNC110  a callback would be set after the attempts have begun
            await asyncio.sleep(0.01)
    await bus.stop()


async def test_requests_notice_a_frozen_server_at_once(nats: NatsServer, bus: Bus) -> None:
    with frozen(nats), pytest.raises(BusUnavailable):
        await bus.request("x", b"", timeout=0.2)


async def test_a_service_stops_while_the_server_is_unavailable(settings: Settings, nats: NatsServer, bus: Bus) -> None:
    async def hang(_: Delivery) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()  # it does not end when cancelled

    inbox = Inbox(hang)
    replica = Bus(settings.model_copy(update={"graceful_timeout": 0.1}), "leaving")
    replica.broker.subscriber(durable="planner")(inbox)
    await replica.start()
    await store(bus, b"work")
    await inbox.until(1)
    kill9(nats)
    async with asyncio.timeout(WAIT_TIMEOUT):
        await replica.stop()


# --- a worker while something that it needs is unavailable


@pytest.fixture
async def server(settings: Settings) -> AsyncIterator[RehearsalServer]:
    async with rehearsal_server(settings) as server:
        yield server


async def test_work_waits_for_an_unreachable_model(settings: Settings, bus: Bus, session_id: str) -> None:
    person = Person(bus, session_id)
    async with serving(build()) as url:
        pass
    model = OpenAIModel(settings.model_copy(update={"openai_base_url": f"{url}/v1", "openai_model": "rehearsal"}))
    async with working(settings, model, "planner"):
        await person.does(c.Say(text=REQUEST))
        waiting = await person.sees(lambda session: session.spent.calls > 0)
        assert (waiting.phase, waiting.spent.tokens) == ("planning", 0)
        async with serving(build(pace=0), port=int(url.rsplit(":", 1)[1])):
            await person.phase("awaiting_approval")
    await model.aclose()


async def test_nats_killed_while_the_model_responds_costs_no_second_call(
    settings: Settings, nats: NatsServer, server: RehearsalServer, bus: Bus, session_id: str
) -> None:
    person = Watcher(bus, session_id)
    await person.watch()
    async with working(server.settings, server.model, "planner"):
        await server.fault(task="text_plan", token_delay=0.05, times=1)
        await person.does(c.Say(text=REQUEST))
        await person.drafting("plan")
        kill9(nats)
        await server.wait_for_calls(
            lambda calls: calls[0]["outcome"] == "ok"
        )  # the plan is complete, and cannot be recorded
        await asyncio.to_thread(nats.restart)
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not bus.ready:  # noqa: ASYNC110  also tests `ready`
                await asyncio.sleep(0.01)
        await person.phase("awaiting_approval")
        await until_idle(bus)
    assert await person.event_types() == ["message.received", "plan.drafted"]
    assert len(await server.calls()) == 1


async def test_work_waits_for_an_unavailable_plan_store(
    settings: Settings, server: RehearsalServer, bus: Bus, session_id: str
) -> None:
    person, requested = Person(bus, session_id), asyncio.Event()

    async def no_reply(_: str, __: bytes) -> None:
        requested.set()

    responder = await bus.answer("plan_store.session.load", no_reply)
    replica = Bus(settings, "planner")
    await replica.connect()
    deps = WorkerDeps(
        "planner", PlanStoreClient(replica, wait=0.2), replica.log, server.model, Drafts(replica), settings
    )
    replica.broker.subscriber(durable="planner")(Worker(deps, draft_plan).on_delivery)
    await replica.start()
    await person.does(c.Say(text=REQUEST))  # a new session needs no load
    await person.phase("awaiting_approval")
    await person.does(c.Say(text="Add support for floating point numbers"))
    await asyncio.wait_for(requested.wait(), WAIT_TIMEOUT)
    await responder.stop()
    async with running_plan_store(settings):
        await person.sees(lambda session: session.plan is not None and session.plan.number == 2)
        await replica.stop()
    assert len(await server.calls()) == 2


# --- kill -9, in the middle of the work of every service

SLOW_RUN = """import time


def main() -> None:
    time.sleep(1.5)
    print("done")


if __name__ == "__main__":
    main()
"""
ALL_EVENTS = [
    "message.received",
    "plan.drafted",
    "plan.approved",
    "code.drafted",
    "code.verified",
    "code.edited",
    "code.verified",
    "code.approved",
    "turn.requested",
    "actions.started",
    "actions.finished",
    "turn.verified",
]


class Processes:
    """Runs services as processes, as `parley up` does."""

    def __init__(self, settings: Settings) -> None:
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._home = settings.parley_home
        self._environment = child_environment(
            NATS_URL=settings.nats_url,
            PARLEY_HOME=str(settings.parley_home),
            OPENAI_BASE_URL=settings.openai_base_url,
            OPENAI_MODEL=settings.openai_model,
            ACK_WAIT=str(settings.ack_wait),
        )

    async def start(self, name: str) -> None:
        with (self._home / f"{name}.log").open("ab") as log:
            self._running[name] = await asyncio.create_subprocess_exec(
                sys.executable, "-m", f"services.{name}.app", env=self._environment, stderr=log
            )

    async def kill9_and_start_another(self, name: str) -> None:
        victim = self._running[name]
        victim.kill()
        await victim.wait()
        await self.start(name)

    async def stop(self) -> None:
        """Send SIGTERM; every service must exit by itself with code 0."""
        for process in self._running.values():
            process.terminate()
        codes = await asyncio.gather(
            *(asyncio.wait_for(process.wait(), WAIT_TIMEOUT) for process in self._running.values())
        )
        assert set(codes) == {0}


@asynccontextmanager
async def processes(settings: Settings) -> AsyncIterator[Processes]:
    async with running_plan_store(settings):
        running = Processes(settings)
        try:
            await asyncio.gather(*(running.start(name) for name in BUILD))
            yield running
        finally:
            await running.stop()


async def test_work_goes_on_after_kill_9_of_each_service(
    settings: Settings, server: RehearsalServer, bus: Bus, session_id: str
) -> None:
    person = Watcher(bus, session_id)
    await person.watch()
    short_ack_wait = server.settings.model_copy(update={"ack_wait": 1.0})
    await provision(short_ack_wait)
    async with processes(short_ack_wait) as services:
        for task in ("text_plan", "code", "tests"):
            await server.fault(task=task, token_delay=0.3, times=1)
        await person.does(c.Say(text=REQUEST))
        await person.drafting("plan")
        await services.kill9_and_start_another("planner")
        await person.phase("awaiting_approval")
        await person.approves()
        await person.drafting("code")
        await services.kill9_and_start_another("generator")
        await person.drafting("tests")
        await services.kill9_and_start_another("verifier")
        await person.sees(in_review(1))
        await person.edits(SLOW_RUN)
        await person.sees(in_review(2))
        await person.approves()
        await person.does(c.Run())
        await person.sees(lambda s: s.turn is not None and s.turn.actions[0].status == "started")
        await services.kill9_and_start_another("executor")
        session = await person.sees(lambda s: s.turn is not None and s.turn.verdict is not None)
    assert session.turn
    result = session.turn.actions[0].result
    assert isinstance(result, dict)
    assert (result["stdout"], result["exit_code"]) == ("done\n", 0)
    assert await person.event_types() == ALL_EVENTS


async def test_a_service_that_waits_for_its_nats_server_stops_on_sigterm(settings: Settings) -> None:
    services = Processes(settings.model_copy(update={"nats_url": "nats://127.0.0.1:1"}))
    await services.start("planner")
    async with asyncio.timeout(WAIT_TIMEOUT):
        while "nats_error" not in (settings.parley_home / "planner.log").read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # a log file sends no event
    await services.stop()
