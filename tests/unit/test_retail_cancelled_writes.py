"""A write continues after its caller is cancelled. If it then fails, asyncio reports no unretrieved exception."""

import asyncio
import gc
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from packs.retail.database import WorldDatabase


async def test_the_error_of_a_cancelled_write_is_not_reported_as_unretrieved() -> None:
    database = WorldDatabase("sqlite+aiosqlite://")
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    started, release, failed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work(_: AsyncConnection) -> None:
        started.set()
        await release.wait()
        failed.set()
        raise TimeoutError

    writing = asyncio.create_task(database.write("world", work))
    await started.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    release.set()
    await database.read(lambda connection: connection.exec_driver_sql("SELECT 1"))  # waits for the connection
    assert failed.is_set()
    gc.collect()  # asyncio reports an unretrieved exception when its task is collected
    assert reported == []
    await database.close()
