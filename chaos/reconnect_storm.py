"""A reconnect storm: recent users' sockets drop, and a hundred sockets resume their sessions at once."""

import asyncio
import random

from chaos.load import Load
from chaos.reconnecting_client import ReconnectingClient
from chaos.socket_recorder import SocketRecord

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
        after, session_id = rng.randint(0, client.version), client.recorder.session_id
        again = ReconnectingClient([rng.choice(urls)], session_id, rng, is_begun=True, after=after)
        resumptions.append(_resume(again, client.version))
    return [record for records in await asyncio.gather(*resumptions) for record in records]


async def _resume(client: ReconnectingClient, until: int) -> list[SocketRecord]:
    """What the client receives until this version, or until the time limit."""
    async with client:
        await client.wait_until(lambda: client.version >= until, MAX_SECONDS)
    return client.recorder.records
