"""A write to the store that nobody waits for any more: it is ended, and what it met with is nobody's fault."""

import asyncio
import gc
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from packs.retail.database import Database


async def test_what_a_write_met_with_after_it_was_given_up_is_not_left_lying_about() -> None:
    database, told = Database("sqlite+aiosqlite://"), list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    begun, away = asyncio.Event(), asyncio.Event()

    async def work(_: AsyncConnection) -> None:
        begun.set()
        await away.wait()
        raise TimeoutError

    writing = asyncio.create_task(database.write("w", work))
    await begun.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    away.set()
    await database.read(lambda connection: connection.exec_driver_sql("SELECT 1"))  # there is one connection
    gc.collect()
    assert told == []
    await database.close()
