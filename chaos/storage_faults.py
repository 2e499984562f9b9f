"""Storage that accepts no writes: nats-servers that are full, a SQLite database locked by another program."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from urllib.parse import quote

from chaos.cluster import Cluster, Unhealthy


@asynccontextmanager
async def storage_full(cluster: Cluster) -> AsyncIterator[None]:
    """Inside the block the fullest node has no room, and the others at most as much as they stored less than it.

    The limit is read at a server's start, so all nodes are restarted at the beginning and at the end. Nodes without
    room may never elect leaders, so only at the end are they awaited to be healthy.
    """
    states = [await node.jetstream() for node in cluster.nodes]
    if not all(states):
        raise Unhealthy("A server does not say how much it stores, so no limit can be chosen.")
    used = max(int(state["storage"]) for state in states)
    before = cluster.max_file_store
    try:
        await _restart(cluster, str(used - 1))  # a server that is exactly at its limit accepts one more message
        yield
    finally:
        await _restart(cluster, before)
        await cluster.wait_until_healthy()


async def _restart(cluster: Cluster, max_file_store: str) -> None:
    """Restart every node with this limit, also after one that does not start. Raises ExceptionGroup."""
    cluster.max_file_store = max_file_store
    errors: list[Exception] = []
    for node in cluster.nodes:
        try:
            await node.stop()
            await node.start()
        except (Unhealthy, TimeoutError) as error:
            errors.append(error)
    if errors:
        raise ExceptionGroup("Servers did not start again", errors)


@asynccontextmanager
async def database_locked(database: Path) -> AsyncIterator[None]:
    """Inside the block this SQLite database is locked for writers, as by another program's open transaction."""
    path = f"file:{quote(str(database))}?mode=rw"  # a wrong path is an error, not a new database
    with closing(sqlite3.connect(path, uri=True, timeout=10, isolation_level=None, check_same_thread=False)) as writer:
        await asyncio.to_thread(writer.execute, "BEGIN IMMEDIATE")
        yield  # the end of the connection rolls the transaction back
