"""The chaos suite's evidence: how a process ended, and the results of the retail store's effects when replayed."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from chaos.collect import read_effects, read_worlds
from chaos.crashing_service import CRASH_EXIT_CODE
from chaos.process import ServiceProcess
from packs.retail.pack import result_of
from packs.retail.store import Worlds
from tests.support.store import STORE
from tests.support.timeouts import WAIT_TIMEOUT

pytest_plugins = ("tests.support.postgres",)


async def test_an_exit_at_a_crash_point_is_recorded_as_a_cut(tmp_path: Path) -> None:
    command = (sys.executable, "-c", f"import os; os._exit({CRASH_EXIT_CODE})")
    process = ServiceProcess("planner-1", command, os.environ, tmp_path)
    await process.start()
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not process.exits:  # noqa: ASYNC110  only the supervisor is notified
            await asyncio.sleep(0.02)
    await process.stop(kill_after=5)
    assert (process.exits[0].cause, process.exits[0].code) == ("cut", CRASH_EXIT_CODE)


async def test_the_exit_of_a_stopped_process_is_recorded_with_its_duration(tmp_path: Path) -> None:
    process = ServiceProcess("planner-1", (sys.executable, "-c", "import signal; signal.pause()"), os.environ, tmp_path)
    await process.start()
    await process.stop(kill_after=20)
    [exited] = process.exits
    assert (exited.cause, exited.program) == ("SIGTERM", "planner-1")
    assert 0 <= exited.late_seconds <= exited.seconds


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/retail.db"
    postgres_url: str = request.getfixturevalue("postgres_url")
    return postgres_url.replace("postgresql://", "postgresql+asyncpg://", 1)


async def test_replayed_effects_are_compared_with_their_recorded_results(url: str) -> None:
    order = next(name for name, document in STORE["orders"].items() if document["status"] == "pending")
    worlds = Worlds(url, lambda: STORE)
    await worlds.open()
    cancel = {"order_id": order, "reason": "no longer needed"}
    cancelled = result_of(await worlds.world("shared").call("cancel_pending_order", cancel, key="s1/9/9.1"))
    refused = result_of(await worlds.world("shared").call("cancel_pending_order", cancel, key="s1/10/10.1"))
    await worlds.close()
    effects = await read_effects(url)
    current, replayed, results = await read_worlds(url, effects)
    assert current == replayed != {}
    assert results == {"s1/9/9.1": cancelled, "s1/10/10.1": refused}
    assert [effect.result for effect in effects] == [cancelled, refused] != [cancelled, cancelled]
    _, _, only_second = await read_worlds(url, effects[1:])
    assert only_second == {"s1/10/10.1": cancelled}, "the refused call succeeds if it is replayed alone"
