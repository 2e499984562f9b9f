"""A nats-server that cannot write any more: everybody says so, and `parley up` starts its own again.

A limit on the size of its files stands for a full disk: nats-server treats both alike.
"""

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from cli.operate.doctor import check_nats, check_store
from cli.operate.nats_server import NatsInstance, find_binary, prepare, probe, restart_when_there_is_room
from cli.operate.supervisor import ProcessSpec, SupervisedProgram, Supervisor
from services.gateway.app import build
from shared.bus import Bus
from shared.bus.provision import provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.log import LogFull, SessionAtPosition, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.conftest import person
from tests.support.gateway import serving
from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT


@asynccontextmanager
async def supervised_server(home: Path) -> AsyncIterator[tuple[NatsInstance, SupervisedProgram]]:
    """A server as `parley up` runs it."""
    place = prepare(home, durable=False)
    async with Supervisor(home / "logs", line=lambda *_: None, note=lambda *_: None) as supervisor:
        server = supervisor.start(ProcessSpec("nats", place.command(find_binary()[0]), {}))
        await answers(place)
        yield place, server


async def answers(place: NatsInstance) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            try:
                if (await asyncio.to_thread(probe, place.url)).jetstream:
                    return
            except OSError:
                await asyncio.sleep(0.02)


def forbid_writes(server: SupervisedProgram) -> None:
    """Every write of the running server to a file fails from now on."""
    assert server.process
    for pid in (server.process.pid, *_children(server.process.pid)):
        hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_a_server_that_stores_nothing_is_reported_and_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.operate.nats_server.STORAGE_INTERVAL", 0.05)
    async with supervised_server(tmp_path) as (place, server), asyncio.timeout(WAIT_TIMEOUT):
        settings = Settings(nats_url=place.url, parley_home=tmp_path, parley_auth="none", graceful_timeout=1)
        await provision(settings)
        bus = Bus(settings, "gateway")
        app = build(settings, bus, PlanStoreClient(bus), bus.log)
        async with serving(app) as address, http_client(base_url=f"http://{address}") as http:
            while (await storage(http)) != "ok":  # noqa: ASYNC110  a health endpoint is polled
                await asyncio.sleep(0.05)
            forbid_writes(server)
            monkeypatch.setattr("shared.bus.jetstream.EVIDENCE_TTL", 0)
            while "is its disk full?" not in await storage(http):  # noqa: ASYNC110  a health endpoint is polled
                await asyncio.sleep(0.05)
            assert (await http.get("/readyz")).status_code == 503
            with pytest.raises(LogFull, match="is its disk full"):
                await commit(bus.log, SessionAtPosition(Session("a"), 0), c.Say(text="x"), person(), timeout=0.1)
            (check, *_) = await check_store(settings, check_nats(settings, is_up=True))
            assert (check.name, check.outcome) == ("storage", "fail")
            assert "make room" in check.advice

            said: list[str] = []
            disk_usage = "cli.operate.nats_server.shutil.disk_usage"
            with pytest.MonkeyPatch.context() as full:
                full.setattr(disk_usage, lambda _: DiskUsage(free=0))
                watching = asyncio.create_task(restart_when_there_is_room(place.folder, server, said.append))
                while not said:  # noqa: ASYNC110  it has no event for a line
                    await asyncio.sleep(0.02)
            while await storage(http) != "ok":  # noqa: ASYNC110  a health endpoint is polled
                await asyncio.sleep(0.05)
            assert [line.split("nats       ")[1] for line in said] == [
                "stores nothing: is the disk full? It is started again once there is room",
                "there is room: it is started again",
            ]
            loaded, _ = await commit(bus.log, SessionAtPosition(Session("a"), 0), c.Say(text="x"), person())
            assert loaded.session.version == 1
            assert server.exits == 1
            watching.cancel()


class DiskUsage:
    """What `shutil.disk_usage` reports."""

    def __init__(self, free: int) -> None:
        self.free = free


async def storage(http: httpx2.AsyncClient) -> str:
    return str((await http.get("/readyz")).json()["checks"]["stream"])
