"""The log is marked with its format. A process that cannot read that format says so and leaves the log alone."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command import Declined
from cli.operate.backup import create_backup, restore_backup
from services.plan_store.app import PlanStore
from services.plan_store.operations.rebuild import RebuildRefused, rebuild
from shared.bus import Bus
from shared.bus.log_format import WrongFormat
from shared.bus.provision import ProvisionError, check, provision
from shared.bus.topology import FORMAT_KEY, LOG_FORMAT
from shared.settings import Settings
from tests.support.inbox import api, store
from tests.support.nats import nats_server
from tests.support.timeouts import WAIT_TIMEOUT

EARLIER = f"has format 1, and this release of Parley reads format {LOG_FORMAT}"
LATER = f"has format 99, and this release of Parley reads format {LOG_FORMAT}"


async def stream(bus: Bus) -> dict[str, Any]:
    config: dict[str, Any] = (await api(bus, "STREAM.INFO.SESSIONS", {}))["config"]
    return config


async def mark(bus: Bus, **metadata: str) -> None:
    """Sets or removes the log's format mark."""
    answer = await api(bus, "STREAM.UPDATE.SESSIONS", await stream(bus) | {"metadata": metadata})
    assert "error" not in answer


async def test_provisioning_marks_the_log_and_keeps_its_other_metadata(settings: Settings, bus: Bus) -> None:
    assert (await stream(bus))["metadata"][FORMAT_KEY] == LOG_FORMAT
    await mark(bus, team="blue")
    assert "metadata" in (await check(settings))[0]
    await provision(settings)
    assert await check(settings) == []
    assert {FORMAT_KEY: LOG_FORMAT, "team": "blue"}.items() <= (await stream(bus))["metadata"].items()


@pytest.mark.parametrize(
    ("metadata", "why"),
    [({FORMAT_KEY: "1"}, EARLIER), ({FORMAT_KEY: "99"}, LATER), ({}, "has events, and no mark of their format")],
    ids=["earlier", "later", "none"],
)
async def test_a_log_of_another_format_is_refused_and_unchanged(
    settings: Settings, bus: Bus, metadata: dict[str, str], why: str
) -> None:
    await store(bus, b"what only the other release can read")
    await mark(bus, **metadata)
    before = await stream(bus)
    for operation in (provision, check):
        with pytest.raises(ProvisionError, match=f"{why}.*mv {settings.parley_home} .*Nothing was changed"):
            await operation(settings)
    other = Bus(settings, "planner")
    with pytest.raises(WrongFormat, match=why):
        await other.start()
    assert not other.ready
    service = PlanStore(settings)
    with pytest.raises(WrongFormat, match=why):
        await service.start()
    await service.stop()
    with pytest.raises(RebuildRefused, match=why):
        await rebuild(settings, lambda *_: None)
    assert await stream(bus) == before


@pytest.mark.parametrize("service", ["planner", "gateway"])
async def test_a_process_reports_another_format_and_exits(
    service: str, settings: Settings, bus: Bus, tmp_path: Path
) -> None:
    await mark(bus, **{FORMAT_KEY: "99"})
    environment = os.environ | {
        "NATS_URL": settings.nats_url,
        "PARLEY_HOME": str(tmp_path),
        "PARLEY_AUTH": "none",
        "AGENT_PORT": "0",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"services.{service}.app"),
        env=environment,
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(WAIT_TIMEOUT):
            _, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    lines = [json.loads(line) for line in stderr.decode().splitlines() if line.startswith("{")]
    assert LATER in next(line["reason"] for line in lines if line["event"] == "wrong_format")
    assert process.returncode != 0


async def test_a_backup_of_another_format_is_not_restored(settings: Settings, bus: Bus, tmp_path: Path) -> None:
    await store(bus, b"x")
    assert await create_backup(settings, tmp_path / "copy") == 0
    contents = json.loads((tmp_path / "copy" / "contents.json").read_text())
    assert contents["streams"]["SESSIONS"]["config"]["metadata"][FORMAT_KEY] == LOG_FORMAT
    contents["streams"]["SESSIONS"]["config"]["metadata"][FORMAT_KEY] = "99"
    (tmp_path / "copy" / "contents.json").write_text(json.dumps(contents))
    with nats_server(tmp_path / "elsewhere") as other:
        target = Settings(nats_url=other.url, parley_home=tmp_path / "there")
        with pytest.raises(Declined, match=LATER):
            await restore_backup(target, tmp_path / "copy")


async def test_a_process_that_starts_before_the_log_exists_waits_for_it(settings: Settings) -> None:
    with nats_server(settings.parley_home / "empty") as server:
        fresh = settings.model_copy(update={"nats_url": server.url})
        bus = Bus(fresh, "gateway")
        starting = asyncio.create_task(bus.start())
        await bus.connect()
        assert not starting.done()
        await provision(fresh)
        async with asyncio.timeout(WAIT_TIMEOUT):
            await starting
        await bus.stop()
