"""The gateway: from a model's first token to the screen, what an idle socket costs, and how long a start takes."""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from bench.overhead import world
from bench.overhead.kinds import CONVERSATION
from bench.overhead.stub import Stub, stub
from cli.ports import free_port
from cli.spawn import tied
from parley.client import Parley
from parley.protocol.client import UserMessage
from parley.protocol.server import Delta
from shared.environment import child_environment

PATIENCE = 30.0  # seconds
HANDSHAKES = 50  # at once


def _gateway(place: world.Place, port: int) -> world.Process:
    command = (sys.executable, "-m", "services.gateway.app")
    free = {"MAX_REQUESTS_PER_SECOND": "0", "MAX_SOCKETS_PER_USER": "0", "MAX_RUNNING_SESSIONS_PER_USER": "0"}
    return world.Process("gateway", command, place, AGENT_HOST="127.0.0.1", AGENT_PORT=str(port), **free)


# --- first token


async def first_tokens(folder: Path, times: int) -> list[float]:
    """Milliseconds from the first piece that the model sends to the first that a socket receives of the draft."""
    port = free_port()
    async with stub() as model, world.server(folder, always=True) as (place, _):
        command = (sys.executable, "-m", "services.planner.app")
        planner = world.Process("planner", command, place, OPENAI_BASE_URL=model.url, OPENAI_MODEL="instant")
        processes = {"gateway": _gateway(place, port), "planner": planner}
        store = world.services(place)["plan_store"]
        async with world.running({"plan_store": store, **processes}):
            await _first_token(port, model)  # the client of the model is loaded by then
            return [await _first_token(port, model) for _ in range(times)]


async def _first_token(port: int, model: Stub) -> float:
    async with (
        asyncio.timeout(PATIENCE),
        Parley(f"http://127.0.0.1:{port}") as parley,
        parley.connect() as connection,
    ):
        await connection.send(UserMessage(type="user_message", content=CONVERSATION.request))
        await connection.until(Delta)
        return 1000 * (time.perf_counter() - model.first)


# --- idle sockets


async def idle_sockets(folder: Path, counts: Sequence[int]) -> dict[int, float]:
    """Kilobytes that the gateway grows by for each of so many sockets that only listen."""
    port = free_port()
    async with world.server(folder, always=False) as (place, _):
        gateway = _gateway(place, port)
        async with world.running({"gateway": gateway}), AsyncExitStack() as opened:
            await _open(port, 10, opened)  # what is loaded for the first one is not counted
            before, there, found = world.resident(gateway.pid), 0, {}
            for count in counts:
                await _open(port, count - there, opened)
                there = count
                found[count] = (world.resident(gateway.pid) - before) / count / 1024
            return found


async def _open(port: int, count: int, opened: AsyncExitStack) -> None:
    for start in range(0, count, HANDSHAKES):
        made = (_greeted(port) for _ in range(min(HANDSHAKES, count - start)))
        for socket in await asyncio.gather(*made):
            opened.push_async_callback(socket.close)


async def _greeted(port: int) -> ClientConnection:
    socket = await connect(f"ws://127.0.0.1:{port}/ws", open_timeout=PATIENCE, ping_interval=None)
    await socket.recv()
    return socket


# --- start


async def starts(folder: Path, times: int) -> list[float]:
    """Seconds from `parley up` until it says ready; the first one makes streams, database and store."""
    return [await _start(folder) for _ in range(times)]


async def _start(folder: Path) -> float:
    chosen = {"PARLEY_HOME": str(folder), "AGENT_PORT": str(free_port()), "REHEARSAL_PORT": str(free_port())}
    command = tied(sys.executable, "-m", "cli.main", "up")
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, env=child_environment(**chosen), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout
    async with asyncio.timeout(world.PATIENCE):
        told = await process.stdout.readline()
    seconds = time.perf_counter() - began
    process.terminate()
    await process.wait()
    if not told.startswith(b"ready "):
        raise RuntimeError(f"parley up said {told!r}")
    return seconds
