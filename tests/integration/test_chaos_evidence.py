"""What chaos knows of a run: how a program ended, and what the store's effects come to when they are made once."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from chaos.collect import read_effects, read_worlds
from chaos.cut_service import CODE
from chaos.process import Process
from packs.retail.pack import result_of
from packs.retail.store import Worlds
from tests.support.store import STORE

pytest_plugins = ("tests.support.postgres",)


async def test_who_ended_at_an_append_was_asked_to(tmp_path: Path) -> None:
    command = (sys.executable, "-c", f"import os; os._exit({CODE})")
    process = Process("planner-1", command, os.environ, tmp_path)
    await process.start()
    async with asyncio.timeout(20):
        while not process.exits:  # noqa: ASYNC110  a process tells its keeper alone
            await asyncio.sleep(0.02)
    await process.stop(patience=5)
    assert (process.exits[0].asked, process.exits[0].code) == ("cut", CODE)


async def test_who_is_told_to_leave_is_told_of_with_the_time_it_took(tmp_path: Path) -> None:
    process = Process("planner-1", (sys.executable, "-c", "import signal; signal.pause()"), os.environ, tmp_path)
    await process.start()
    await process.stop(patience=20)
    [left] = process.exits
    assert (left.asked, left.program) == ("SIGTERM", "planner-1")
    assert 0 <= left.late <= left.seconds


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/retail.db"
    given: str = request.getfixturevalue("postgres_url")
    return given.replace("postgresql://", "postgresql+asyncpg://", 1)


async def test_effects_are_made_once_more_beside_what_they_said(url: str) -> None:
    order = next(name for name, one in STORE["orders"].items() if one["status"] == "pending")
    worlds = Worlds(url, lambda: STORE)
    await worlds.open()
    cancel = {"order_id": order, "reason": "no longer needed"}
    done = result_of(await worlds.world("shared").call("cancel_pending_order", cancel, key="s1/9/9.1"))
    refused = result_of(await worlds.world("shared").call("cancel_pending_order", cancel, key="s1/10/10.1"))
    await worlds.close()
    effects = await read_effects(url)
    found, replayed, answers = await read_worlds(url, effects)
    assert found == replayed != {}
    assert answers == {"s1/9/9.1": done, "s1/10/10.1": refused}
    assert [effect.result for effect in effects] == [done, refused] != [done, done]
    _, _, alone = await read_worlds(url, effects[1:])
    assert alone == {"s1/10/10.1": done}, "it was refused, though once it would have been done"
