"""Stores that take nothing more: nats-servers without room for another byte, a SQLite file in somebody else's hands."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from chaos.cluster import ROOM, Cluster


@asynccontextmanager
async def full(cluster: Cluster) -> AsyncIterator[None]:
    """Inside the block no node has room for more than it keeps; afterwards all have room again.

    A limit counts from a server's start: each is started again, at the beginning and at the end.
    """
    used = max([int((await node.jetstream())["storage"]) for node in cluster.nodes])
    try:
        await _restart(cluster, str(used - 1))  # a server that keeps just its limit takes one more message
        yield
    finally:
        await _restart(cluster, ROOM)


async def _restart(cluster: Cluster, room: str) -> None:
    """All of them, and only then a look at them: full servers of a cluster stop, and none is well before most are."""
    cluster.room = room
    for node in cluster.nodes:
        await node.stop()
        await node.start()
    await cluster.healthy(seconds=60)


@asynccontextmanager
async def held(database: Path) -> AsyncIterator[None]:
    """Inside the block another program is in the middle of writing to this SQLite database, and does not end it."""
    with closing(sqlite3.connect(database, timeout=10, isolation_level=None, check_same_thread=False)) as writer:
        await asyncio.to_thread(writer.execute, "BEGIN IMMEDIATE")
        try:
            yield
        finally:
            writer.execute("ROLLBACK")
