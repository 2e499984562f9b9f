"""NATS storage is full: users get an error, no stored event is lost, and all work continues once there is room."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.failover import AppendRace
from chaos.storage_faults import storage_full
from services.gateway.app import build
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.bus.provision import provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.log import LogFull, LogUnavailable, SessionAtPosition, SessionLog, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.testing import session_ids
from tests.conftest import person
from tests.support.gateway import client, serving
from tests.support.http_client import http_client
from tests.support.lost_servers import LOSES_SERVERS
from tests.support.lost_servers import sockets_collected as sockets_collected
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.stack import working
from tests.support.timeouts import WAIT_TIMEOUT

pytestmark = [*LOSES_SERVERS, pytest.mark.long]


async def provisioned(cluster: Cluster, folder: Path) -> Settings:
    settings = Settings(nats_url=cluster.url, nats_replicas=cluster.replicas, parley_home=folder, ack_wait=2)
    await provision(settings)
    return settings


@asynccontextmanager
async def parley(model: RehearsalServer) -> AsyncIterator[str]:
    """Run every service in this process; yield the gateway's address."""
    settings = model.settings.model_copy(update={"parley_auth": "none", "graceful_timeout": 2})
    plan_store, bus = PlanStore(settings), Bus(settings, "gateway")
    await plan_store.start()
    try:
        async with (
            working(settings, model.model),
            serving(build(settings, bus, PlanStoreClient(bus), bus.log)) as address,
        ):
            async with http_client(base_url=f"http://{address}") as http, asyncio.timeout(WAIT_TIMEOUT):
                while (await http.get("/readyz")).status_code != 200:  # noqa: ASYNC110  a health endpoint is polled
                    await asyncio.sleep(0.02)
            yield address
    finally:
        await plan_store.stop()


async def stored(bus: Bus) -> dict[str, list[bytes]]:
    return {name: [raw.data for raw in await bus.log.read(name)] for name in await session_ids(bus.log)}


async def append_for_ever(log: SessionLog) -> None:
    """Start session after session: a node that used less than another has room for a few. Raises LogUnavailable."""
    for number in count():
        new = SessionAtPosition(Session(f"new{number}"), 0)
        await commit(log, new, c.Say(text="Write a calculator"), person(), timeout=2)


async def test_an_append_without_room_is_refused_with_an_explanation(tmp_path: Path) -> None:
    async with Cluster(tmp_path, nodes=1) as cluster:
        bus = Bus(await provisioned(cluster, tmp_path), "test")
        await bus.connect()
        empty, message = SessionAtPosition(Session("a"), 0), c.Say(text="Write a calculator")
        loaded, _ = await commit(bus.log, empty, message, person())
        async with storage_full(cluster):
            with pytest.raises(LogFull, match="no room"):
                await commit(bus.log, loaded, c.Rename(title="Another"), person(), timeout=5)
            assert len(await bus.log.read("a")) == 1
        _, renamed = await commit(bus.log, loaded, c.Rename(title="Another"), person())
        assert renamed.version == 2
        await bus.stop()


async def test_once_there_is_room_all_work_continues_and_ends(tmp_path: Path) -> None:
    async with Cluster(tmp_path, nodes=1) as cluster:
        settings = await provisioned(cluster, tmp_path)
        bus = Bus(settings, "test")
        await bus.connect()
        async with (
            rehearsal_server(settings) as model,
            parley(model) as address,
            client(address) as ann,
            client(address) as bob,
        ):
            await ann.send("user_message", content="Help me create a simple calculator")
            plan = await ann.event("plan.drafted")
            await model.fault(task="text_plan", latency=2, times=1)
            await bob.send("user_message", content="Help me create a simple calculator")
            await bob.event("message.received")
            before = await stored(bus)
            async with storage_full(cluster):
                approval = {"approved": True, "version": plan["version"], "id": "yes"}
                await ann.send("approval", **approval)
                refused = await ann.error("unavailable")
                assert "full" in refused["message"]
                assert "max_file_store" in refused["hint"]
                assert await stored(bus) == before
            await ann.send("approval", **approval)
            await ann.event("plan.approved")
            await ann.event("code.verified")
            drafted = await bob.event("plan.drafted")  # the planner could not store it before
            assert drafted["version"] >= 2
        after = await stored(bus)
        assert {name: data[: len(before[name])] for name, data in after.items()} == before
        await bus.stop()


async def test_a_full_cluster_loses_no_acknowledged_event(tmp_path: Path) -> None:
    async with Cluster(tmp_path) as cluster:
        settings = await provisioned(cluster, tmp_path)
        async with AppendRace(settings, sessions=2, writers=2) as race:
            await race.wait_until_resumed(time.monotonic())
            async with storage_full(cluster):
                with pytest.raises(LogUnavailable):
                    await append_for_ever(race.log)
            await race.wait_until_resumed(time.monotonic())
            await race.stop()
            assert await cluster.wait_until_replicated() >= len(race.acknowledged)
            assert await race.violations() == []
