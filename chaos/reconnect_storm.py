"""A reconnect storm: all sockets drop at once, and a hundred clients resume from random versions."""

import asyncio
import random
from contextlib import suppress

from chaos.load import Load
from chaos.socket_recorder import SocketRecord, SocketRecorder
from parley.client import Connection, ParleyError
from parley.client.endpoint import Endpoint
from parley.protocol.server import Error

SOCKETS = 100
MAX_SECONDS = 6.0  # for each socket


async def reconnect_storm(load: Load, urls: list[str], choice: random.Random) -> list[SocketRecord]:
    """What a hundred sockets received that resumed recent sessions from random versions."""
    clients = [user.client for user in load.users[-50:] if user.client.version]
    for client in clients:
        client.drop()
    if not clients:
        return []
    resumed = []
    for _ in range(SOCKETS):
        client = choice.choice(clients)
        after = choice.randint(0, client.version)
        resumed.append(_resume(Endpoint(choice.choice(urls)), client.recorder.session_id, after, client.version))
    return [record for records in await asyncio.gather(*resumed) for record in records]


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
