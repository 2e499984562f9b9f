"""Storage that accepts no writes: nats-servers that are full, a SQLite database locked by another program."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from chaos.cluster import DEFAULT_MAX_STORE, Cluster


@asynccontextmanager
async def storage_full(cluster: Cluster) -> AsyncIterator[None]:
    """Inside the block no node has room for more data.

    The limit is read at a server's start, so all nodes are restarted at the beginning and at the end. Nodes without
    room may never elect leaders, so only at the end are they awaited to be healthy.
    """
    used = max([int((await node.jetstream())["storage"]) for node in cluster.nodes])
    try:
        await _restart(cluster, str(used - 1))  # a server that is exactly at its limit accepts one more message
        yield
    finally:
        await _restart(cluster, DEFAULT_MAX_STORE)
        await cluster.wait_until_healthy()


async def _restart(cluster: Cluster, room: str) -> None:
    cluster.max_file_store = room
    for node in cluster.nodes:
        await node.stop()
        await node.start()


@asynccontextmanager
async def database_locked(database: Path) -> AsyncIterator[None]:
    """Inside the block another program holds an open write transaction on this SQLite database."""
    with closing(sqlite3.connect(database, timeout=10, isolation_level=None, check_same_thread=False)) as writer:
        await asyncio.to_thread(writer.execute, "BEGIN IMMEDIATE")
        try:
            yield
        finally:
            writer.execute("ROLLBACK")
