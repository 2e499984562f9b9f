"""A reconnect storm: recent users' sockets drop, and a hundred sockets resume their sessions at once."""

import asyncio
import random
from contextlib import suppress

from chaos.load import Load
from chaos.socket_recorder import SocketRecord, SocketRecorder
from parley.client import Connection, ParleyError
from parley.client.endpoint import Endpoint
from parley.protocol.server import Error

SOCKETS, USERS = 100, 50
MAX_SECONDS = 6.0  # for each socket


async def reconnect_storm(load: Load, urls: list[str], rng: random.Random) -> list[SocketRecord]:
    """Drop the recent users' sockets, resume their sessions after random versions, and return what was received.

    The invariants judge what a socket received; one that does not catch up in time is no failure.
    """
    clients = [user.client for user in load.users[-USERS:] if user.client.version]
    for client in clients:
        client.drop()
    if not clients:
        return []
    resumptions = []
    for _ in range(SOCKETS):
        client = rng.choice(clients)
        after = rng.randint(0, client.version)
        resumptions.append(_resume(Endpoint(rng.choice(urls)), client.recorder.session_id, after, client.version))
    return [record for records in await asyncio.gather(*resumptions) for record in records]


async def _resume(gateway: Endpoint, session_id: str, after: int, until: int) -> list[SocketRecord]:
    """Resume, and read until version `until`, an error, or the time limit."""
    recorder = SocketRecorder(session_id)
    connection = Connection(gateway, session_id=session_id, after=after, timeout=MAX_SECONDS, tap=recorder)
    with suppress(TimeoutError, ParleyError):
        async with asyncio.timeout(MAX_SECONDS), connection:
            async for message in connection:
                if isinstance(message, Error) or connection.after >= until:
                    break
    return recorder.records
