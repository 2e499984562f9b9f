"""A reconnect storm: every socket lost at once, and a hundred people who come back at any version they remember."""

import asyncio
import random
from contextlib import suppress

from chaos.load import Load
from chaos.recorder import Recorder, Shown
from parley.client import Connection, ParleyError
from parley.client.endpoint import Endpoint
from parley.protocol.server import Error

SOCKETS = 100
LOOKS = 6.0  # seconds that each of them stays at the most


async def storm(load: Load, urls: list[str], choice: random.Random) -> list[Shown]:
    """What a hundred sockets showed that resumed recent sessions from random versions."""
    known = [person.line for person in load.people[-50:] if person.line.version]
    for line in known:
        line.drop()
    if not known:
        return []
    looks = []
    for _ in range(SOCKETS):
        line = choice.choice(known)
        after = choice.randint(0, line.version)
        looks.append(_look(Endpoint(choice.choice(urls)), line.recorder.session_id, after, line.version))
    return [shown for found in await asyncio.gather(*looks) for shown in found]


async def _look(gateway: Endpoint, session_id: str, after: int, until: int) -> list[Shown]:
    """Resume, and read on until what is known to be there has come, or the gateway is lost for long."""
    recorder = Recorder(session_id)
    connection = Connection(gateway, session_id=session_id, after=after, patience=LOOKS, tap=recorder)
    with suppress(TimeoutError, ParleyError):
        async with asyncio.timeout(LOOKS), connection:
            async for message in connection:
                if isinstance(message, Error) or connection.after >= until:
                    break
    return recorder.shown
