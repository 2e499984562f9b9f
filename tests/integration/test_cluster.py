"""A cluster of three nats-servers: clients use the remaining servers, and a lost leader costs seconds but no event."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.collect import read_log
from chaos.failover import AppendRace, lose_leader
from chaos.replay import replay
from cli.operate.doctor import check_nats, check_streams
from cli.operate.nats_server import probe
from shared.bus import Bus, Delivery
from shared.bus.provision import ProvisionError, check, provision
from shared.log import EXPECTED_SEQUENCE
from shared.settings import Settings
from tests.support.inbox import api, consuming
from tests.support.lost_servers import LOSES_SERVERS
from tests.support.lost_servers import sockets_collected as sockets_collected
from tests.support.timeouts import WAIT_TIMEOUT

pytestmark = [*LOSES_SERVERS, pytest.mark.long]
MAX_INTERRUPTION = 15.0  # seconds that appends may be interrupted


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with Cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def settings(cluster: Cluster, tmp_path: Path) -> Settings:
    return Settings(nats_url=cluster.url, nats_replicas=3, parley_home=tmp_path, ack_wait=2, graceful_timeout=2)


async def test_everything_has_three_replicas(cluster: Cluster, settings: Settings) -> None:
    single = settings.model_copy(update={"nats_replicas": 1})
    await provision(single)
    differences = await check(settings)
    assert len(differences) >= 5
    assert all("num_replicas (1, wanted 3)" in line for line in differences)
    await provision(settings)
    assert await check(settings) == []
    bus = Bus(settings, "test")
    await bus.connect()
    for subject in ("STREAM.INFO.SESSIONS", "CONSUMER.INFO.SESSIONS.planner", "STREAM.INFO.OBJ_ARTEFACTS"):
        await wait_for_three_replicas(bus, subject)
    await bus.stop()


async def test_only_force_lowers_the_number_of_replicas(settings: Settings) -> None:
    unset = settings.model_copy(update={"nats_replicas": 1})
    await provision(settings)
    assert await check(unset) == []
    assert await provision(unset) == []
    assert all("num_replicas (3, wanted 1)" in line for line in await provision(unset, force=True))
    assert len(await check(settings)) >= 5


async def test_a_service_reads_the_replica_count_from_the_stream_and_not_a_setting(settings: Settings) -> None:
    """Without NATS_REPLICAS, too, a writer then detects that a foreign message got in ahead of its event."""
    unset = settings.model_copy(update={"nats_replicas": 1})
    bus = Bus(unset, "early")
    await bus.connect()
    assert bus.log.clustered, "without a stream the log counts as replicated, to be safe"
    await provision(settings)
    async with consuming(unset, DeliveryRecorder()) as worker:
        assert worker.log.clustered
    await bus.stop()


async def wait_for_three_replicas(bus: Bus, subject: str) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:  # the servers add one peer after the other, without a notification
            peers = (await api(bus, subject, {})).get("cluster", {}).get("replicas", [])
            if len(peers) == 2 and all(peer["current"] for peer in peers):
                return


async def test_more_replicas_than_servers_are_refused_with_an_explanation(cluster: Cluster, settings: Settings) -> None:
    with pytest.raises(ProvisionError, match="NATS_REPLICAS must not be more than the servers"):
        await provision(settings.model_copy(update={"nats_replicas": 5}))


async def test_a_single_server_has_one_replica_of_everything(tmp_path: Path) -> None:
    async with Cluster(tmp_path, nodes=1) as single:
        settings = Settings(nats_url=single.url, nats_replicas=3, parley_home=tmp_path)
        with pytest.raises(ProvisionError, match="leave it out for a single server"):
            await provision(settings)


async def test_the_doctor_uses_the_remaining_servers(cluster: Cluster, settings: Settings) -> None:
    await provision(settings)
    first = cluster.nodes[0]
    await first.kill()
    assert settings.nats_url.startswith(first.url_of("parley")), "a client that tries only one server tries the first"
    assert probe(settings.nats_url).jetstream
    broker = await asyncio.to_thread(check_nats, settings, is_up=False)
    assert broker.outcome == "ok"
    assert (await check_streams(settings, broker)).finding == "as they should be"


class DeliveryRecorder:
    """A handler that records the positions of its deliveries, and can wait for some of them."""

    def __init__(self) -> None:
        self._positions: set[int] = set()
        self._more = asyncio.Event()

    async def __call__(self, delivery: Delivery) -> None:
        self._positions.add(delivery.position)
        self._more.set()

    async def all_of(self, positions: set[int]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not positions <= self._positions:
                self._more.clear()
                await self._more.wait()


async def test_a_lost_leader_costs_seconds_and_no_event(cluster: Cluster, settings: Settings) -> None:
    """Writers race for the same sessions while leaders fail; a consumer receives each acknowledged event."""
    await provision(settings)
    recorder, interrupted = DeliveryRecorder(), {}
    async with (
        consuming(settings, recorder, durable="plan_store", limit=50),
        AppendRace(settings, sessions=2, writers=3) as race,
    ):
        await race.wait_until_resumed(time.monotonic())
        for fault in ("step_down", "kill", "pause"):
            began, back = await lose_leader(cluster, fault)
            interrupted[fault] = await race.wait_until_resumed(began)
            await back()
            await cluster.wait_until_healthy()
        await race.stop()
        await recorder.all_of({acked.position for acked in race.acknowledged})
        assert await cluster.wait_until_replicated() >= len(race.acknowledged)
        assert await race.violations() == []
    assert max(interrupted.values()) < MAX_INTERRUPTION, interrupted


async def test_unguarded_appends_lose_no_event(cluster: Cluster, settings: Settings) -> None:
    """The servers acknowledge an append even if a foreign message got in ahead of it.

    The writer reads the stream back, notices this, and appends again.
    """
    await provision(settings)
    sessions, strangers = 2, Bus(settings, "strangers")
    await strangers.connect()

    async def publish_foreign_messages(session_id: str) -> None:
        while True:
            await strangers.client.jetstream().publish(
                f"session.{session_id}.nobody.x", b"a stranger's", timeout=WAIT_TIMEOUT
            )
            await asyncio.sleep(0.02)  # without a pause the writers would never succeed

    async with AppendRace(settings, sessions=sessions, writers=3) as race:
        await race.wait_until_resumed(time.monotonic())
        tasks = [asyncio.create_task(publish_foreign_messages(f"s{number}")) for number in range(sessions)]
        overtaken: list[int] = []
        async with asyncio.timeout(WAIT_TIMEOUT):
            while len(overtaken) < 10:
                await race.wait_until_resumed(time.monotonic())
                overtaken = [
                    message.raw.position
                    for session_id, raws in (await read_log(race.log)).items()
                    for message in replay(session_id, raws).messages
                    if not message.event and EXPECTED_SEQUENCE in message.raw.headers
                ]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await race.wait_until_resumed(time.monotonic())
        await race.stop()
        lost = [violation for violation in await race.violations() if violation.invariant == "I1"]
        assert lost == []
    await strangers.stop()
