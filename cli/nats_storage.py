"""Watches the storage of Parley's own nats-server, which does not recover from a full disk by itself."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from cli.nats_server import monitoring_url
from cli.readiness import http_get
from cli.supervisor import SupervisedProgram

INTERVAL = 2.0  # seconds between two checks
ENOUGH_ROOM = 8_000_000  # bytes: a block of the log
WRITE_ERROR = "write error"  # in the server's health report, until it is started again


async def restart_when_there_is_room(folder: Path, server: SupervisedProgram, say: Callable[[str], None]) -> None:
    """Restart the server in `folder` once it has stopped storing and its disk has room again. Runs until cancelled."""
    was_full = False
    while True:
        await asyncio.sleep(INTERVAL)
        url = monitoring_url(folder)
        reply = await asyncio.to_thread(http_get, f"{url}/healthz") if url else None
        if reply is None or WRITE_ERROR not in reply.text:
            was_full = was_full and (reply is None or reply.status != 200)
            continue
        has_room = shutil.disk_usage(folder).free >= ENOUGH_ROOM
        if not was_full:
            say("nats       stores nothing: is the disk full? It is started again once there is room")
        was_full = True
        if has_room and server.process:
            say("nats       there is room: it is started again")
            server.process.terminate()
            await server.process.wait()
