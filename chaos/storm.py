"""A reconnect storm: every socket lost at once, and a hundred people who come back at any version they remember."""

import asyncio
import json
import random
from contextlib import suppress

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from chaos.line import Shown
from chaos.load import Load

SOCKETS = 100
LOOKS = 6.0  # seconds that each of them stays at the most


async def storm(load: Load, urls: list[str], choice: random.Random) -> list[Shown]:
    """What a hundred sockets showed that resumed recent sessions from random versions."""
    known = [person.line for person in load.people[-50:] if person.line.version]
    for line in known:
        await line.drop()
    if not known:
        return []
    looks = []
    for _ in range(SOCKETS):
        line = choice.choice(known)
        shown = Shown(line.session_id, choice.randint(0, line.version))
        looks.append((f"ws{choice.choice(urls).removeprefix('http')}/ws", shown, line.version))
    await asyncio.gather(*(_look(url, shown, until) for url, shown, until in looks))
    return [shown for _, shown, _ in looks]


async def _look(url: str, shown: Shown, until: int) -> None:
    """Resume, and read on until what is known to be there has come, or the gateway is lost."""
    with suppress(OSError, TimeoutError, WebSocketException, InvalidHandshake):
        async with asyncio.timeout(LOOKS), connect(url, max_size=None, proxy=None, close_timeout=1) as socket:
            resume = {"type": "resume", "session_id": shown.session_id, "after": shown.after}
            await socket.send(json.dumps(resume))
            version = shown.after
            while version < until:
                message = json.loads(await socket.recv())
                if message["type"] == "error":
                    return
                if message["type"] == "event" and message["session_id"] == shown.session_id:
                    shown.events.append(message["event"])
                    version = message["event"]["version"]
