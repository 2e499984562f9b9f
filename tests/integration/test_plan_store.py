"""plan_store on a real nats-server: requests, deliveries, timers and advisories."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.operate.supervisor import bound_to_parent
from parley.events.values import SessionSettings
from services.plan_store.app import PlanStore
from services.plan_store.database import ProjectionDatabase
from shared import store_api as api
from shared.bus import Bus, Delivery, Unprocessable
from shared.bus.provision import provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from shared.environment import child_environment
from shared.log import LogUnavailable, SessionAtPosition, commit
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreRefused, StoreUnavailable
from tests.conftest import person
from tests.support.nats import NatsServer, kill9
from tests.support.plan_store import rows
from tests.support.stack import running_plan_store
from tests.support.stories import STEPS
from tests.support.timeouts import WAIT_TIMEOUT

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

pytest_plugins = ("tests.support.postgres",)


@pytest.fixture
async def service(settings: Settings) -> AsyncIterator[PlanStore]:
    async with running_plan_store(settings) as service:
        yield service


@pytest.fixture
def store(bus: Bus) -> PlanStoreClient:
    return PlanStoreClient(bus)


async def commit_all(bus: Bus, session_id: str, *commands: AnyCommand) -> SessionAtPosition:
    """Commit these commands to a new session, each by the user or by the service that is due. Returns the session."""
    loaded = SessionAtPosition(Session(session_id), 0)
    for command in commands:
        work = loaded.session.work
        by_service = isinstance(command, c.DraftPlan | c.DraftCode)
        by = CommandMeta(work.service, datetime.now(UTC), work=work) if by_service and work else person()
        loaded, _ = await commit(bus.log, loaded, command, by)
    return loaded


@asynccontextmanager
async def next_message(bus: Bus, subject: str) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
    """Yield a function that waits for the next stored event with this subject."""
    messages: asyncio.Queue[bytes] = asyncio.Queue()

    async def on_message(_: str, body: bytes) -> None:
        messages.put_nowait(body)

    subscription = await bus.subscribe(f"feed.{subject}", on_message)

    async def wait() -> bytes:
        async with asyncio.timeout(WAIT_TIMEOUT):
            return await messages.get()

    yield wait
    await subscription.stop()


async def eventually[T](attempt: Callable[[], Awaitable[T]], good: Callable[[T], bool] = lambda _: True) -> T:
    """The first good answer of repeated attempts, for changes that no event announces."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            with suppress(StoreUnavailable, LogUnavailable):
                answer = await attempt()
                if good(answer):
                    return answer
            await asyncio.sleep(0.05)


PLAN = c.DraftPlan(goal="A calculator", steps=STEPS)


async def test_a_session_is_loaded_read_and_purged(
    service: PlanStore, store: PlanStoreClient, bus: Bus, session_id: str
) -> None:
    loaded = await commit_all(bus, session_id, c.Say(text="Write a calculator"), PLAN)
    assert await store.load(session_id, at_least=loaded.position) == loaded
    assert (await store.load(session_id, version=1)).session.phase == "planning"
    page = api.JournalPage.model_validate(await store.ask("journal.read", session_id=session_id))
    assert [event.type for event in page.events] == ["message.received", "plan.drafted"]
    await store.ask("session.purge", session_id=session_id, user="ann")
    assert await bus.log.read(session_id) == []
    with pytest.raises(StoreRefused) as refusal:
        await store.load(session_id)
    assert refusal.value.code == "purged"


@pytest.mark.races
async def test_an_approval_expires_by_the_brokers_timer(service: PlanStore, bus: Bus, session_id: str) -> None:
    async with next_message(bus, f"{session_id}.*.approval.expired") as expired:
        settings = SessionSettings(approval_timeout=1)
        await commit_all(bus, session_id, c.Say(text="Write a calculator", settings=settings), PLAN)
        event = json.loads(await expired())
    assert (event["actor"], event["requested_version"]) == ("keeper", 2)


@pytest.mark.races
async def test_a_session_whose_worker_gives_up_fails_and_can_be_retried(
    service: PlanStore, store: PlanStoreClient, settings: Settings, bus: Bus, session_id: str
) -> None:
    async def give_up(_: Delivery) -> None:
        raise Unprocessable("cannot do this")

    worker = Bus(settings, "planner")
    worker.broker.subscriber(durable="planner")(give_up)
    await worker.start()
    try:
        async with next_message(bus, f"{session_id}.*.session.failed") as failed:
            loaded = await commit_all(bus, session_id, c.Say(text="Write a calculator"))
            event = json.loads(await failed())
    finally:
        await worker.stop()
    assert "cannot do this" in event["reason"]
    dead = api.DeadPage.model_validate(await store.ask("dead.list")).dead
    assert [(dead_letter.consumer, dead_letter.stream_seq) for dead_letter in dead] == [("planner", loaded.position)]
    failed_session = await store.load(session_id)
    retried, _ = await commit(bus.log, failed_session, c.Retry(), person())
    assert retried.session.phase == "planning"


@pytest.mark.races
async def test_the_sweep_fails_lost_work(settings: Settings, bus: Bus, session_id: str) -> None:
    """The planner works on another session meanwhile; that work is not lost."""

    async def lose(delivery: Delivery) -> None:
        if delivery.subject.startswith("session.other."):
            busy.set()
            await asyncio.Event().wait()
        taken.set()

    taken, busy = asyncio.Event(), asyncio.Event()
    worker = Bus(settings, "planner")
    worker.broker.subscriber(durable="planner")(lose)
    await worker.start()
    try:
        short_timeout = settings.model_copy(update={"stuck_work_timeout": 0.4})
        await commit_all(bus, session_id, c.Say(text="Write a calculator"))
        await taken.wait()
        await commit_all(bus, "other", c.Say(text="Write another"))
        await busy.wait()
        async with (
            next_message(bus, f"{session_id}.*.session.failed") as failed,
            running_plan_store(short_timeout) as service,
        ):
            event = json.loads(await failed())
            assert (await PlanStoreClient(service.bus).load("other")).session.phase == "planning"
    finally:
        await worker.stop()
    assert "lost" in event["reason"]


# --- outages and restarts


@pytest.mark.races
async def test_plan_store_continues_after_an_outage_of_nats(
    service: PlanStore, store: PlanStoreClient, bus: Bus, nats: NatsServer, session_id: str
) -> None:
    first = await commit_all(bus, session_id, c.Say(text="Write a calculator"))
    kill9(nats)
    await asyncio.to_thread(nats.restart)
    second, _ = await eventually(
        lambda: commit(bus.log, first, PLAN, CommandMeta("planner", datetime.now(UTC), work=first.session.work))
    )
    assert await eventually(lambda: store.load(session_id, at_least=second.position)) == second


@pytest.mark.races
async def test_plan_store_continues_after_outages_of_postgresql_at_the_start_and_later(
    own_postgres: "PostgresServer", settings: Settings, store: PlanStoreClient, bus: Bus, session_id: str
) -> None:
    server, short_wait_client = own_postgres, PlanStoreClient(bus, wait=0.5)
    await asyncio.to_thread(server.stop)
    service = PlanStore(settings.model_copy(update={"database_url": server.url}))
    starting = asyncio.create_task(service.start())
    with pytest.raises(StoreUnavailable):
        await short_wait_client.load(session_id)
    await asyncio.to_thread(server.start)
    await asyncio.wait_for(starting, WAIT_TIMEOUT)
    try:
        first = await commit_all(bus, session_id, c.Say(text="Write a calculator"))
        assert await store.load(session_id) == first
        await asyncio.to_thread(server.stop)
        with pytest.raises(StoreUnavailable):
            await short_wait_client.load(session_id)
        second, _ = await commit(
            bus.log, first, PLAN, CommandMeta("planner", datetime.now(UTC), work=first.session.work)
        )
        await asyncio.to_thread(server.start)
        assert await eventually(lambda: store.load(session_id, at_least=second.position)) == second
        await eventually(
            lambda: store.ask("session.list"), lambda page: [row["version"] for row in page["sessions"]] == [2]
        )
    finally:
        await service.stop()


@asynccontextmanager
async def process(
    settings: Settings, module: str = "services.plan_store.app"
) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = child_environment(
        NATS_URL=settings.nats_url, PARLEY_HOME=str(settings.parley_home), DATABASE_URL=settings.database_url
    )
    command = bound_to_parent(sys.executable, "-m", module)
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*command, env=environment, stderr=pipe, stdout=pipe)
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def wait_until_ready(child: asyncio.subprocess.Process) -> None:
    assert child.stderr
    async with asyncio.timeout(WAIT_TIMEOUT):
        async for line in child.stderr:
            if json.loads(line)["event"] == "ready":
                return
    raise AssertionError("it ended before it was ready")


@pytest.mark.races
@pytest.mark.redelivers
async def test_after_a_kill_and_restart_the_rows_match_the_log(settings: Settings, bus: Bus, tmp_path: Path) -> None:
    ids = [f"s{n}" for n in range(30)]

    async def write_events() -> None:
        for session_id in ids:
            await commit_all(
                bus, session_id, c.Say(text="Write it"), PLAN, c.Rename(title="One"), c.Rename(title="Two")
            )

    async with process(settings) as first:
        await wait_until_ready(first)
        writing = asyncio.create_task(write_events())
        async with next_message(bus, f"{ids[len(ids) // 2]}.>") as middle_event:
            await middle_event()
        first.kill()
        await first.wait()
        await writing
    async with process(settings) as second:
        await wait_until_ready(second)
        database = ProjectionDatabase(settings.sql_url)
        # the tables are read one after the other: only once all is written do they belong together
        await eventually(lambda: rows(database), lambda tables: len(tables["journal"]) == 4 * len(ids))
        before = await rows(database)
        async with process(settings, "services.plan_store.operations.rebuild") as command:
            output, problems = await command.communicate()
        assert command.returncode == 0, problems
        assert output.startswith(f"{len(ids)} sessions, {4 * len(ids)} events".encode())
        assert await rows(database) == before
        await database.close()
        os.kill(second.pid, signal.SIGTERM)
        assert await asyncio.wait_for(second.wait(), WAIT_TIMEOUT) == 0


@pytest.mark.races
async def test_plan_store_can_be_stopped_while_it_waits_for_its_database(settings: Settings) -> None:
    unreachable = settings.model_copy(update={"database_url": "postgresql://parley@127.0.0.1:9/none"})
    async with process(unreachable) as child:
        assert child.stderr
        line = json.loads(await asyncio.wait_for(child.stderr.readline(), WAIT_TIMEOUT))
        assert (line["event"], line["reason"]) == ("waiting", "DatabaseUnavailable")
        child.terminate()
        assert await asyncio.wait_for(child.wait(), WAIT_TIMEOUT) == 0


async def test_a_rebuild_on_the_wrong_server_changes_nothing(
    service: PlanStore, store: PlanStoreClient, settings: Settings, bus: Bus, session_id: str, tmp_path: Path
) -> None:
    loaded = await commit_all(bus, session_id, c.Say(text="Write a calculator"))
    await store.load(session_id)
    with NatsServer(tmp_path / "other") as other:
        other_settings = settings.model_copy(update={"nats_url": other.url})
        await provision(other_settings)
        async with process(other_settings, "services.plan_store.operations.rebuild") as command:
            _, problems = await command.communicate()
    assert command.returncode == 1
    assert b"is NATS_URL the right one?" in problems
    assert await store.load(session_id) == loaded
