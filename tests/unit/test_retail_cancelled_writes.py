"""A write to the store whose caller was cancelled: it completes, and its error is not reported."""

import asyncio
import gc
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from packs.retail.database import WorldDatabase


async def test_what_a_write_met_with_after_it_was_given_up_is_not_left_lying_about() -> None:
    database, result = WorldDatabase("sqlite+aiosqlite://"), list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: result.append(context))
    started, away = asyncio.Event(), asyncio.Event()

    async def work(_: AsyncConnection) -> None:
        started.set()
        await away.wait()
        raise TimeoutError

    writing = asyncio.create_task(database.write("w", work))
    await started.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    away.set()
    await database.read(lambda connection: connection.exec_driver_sql("SELECT 1"))  # there is one connection
    gc.collect()
    assert result == []
    await database.close()
