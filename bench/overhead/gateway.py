"""Measures the gateway: latency of the model's first token, memory of an idle socket, and start-up time."""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect

from bench.overhead import processes
from bench.overhead.model_stub import ModelStub, running_stub
from bench.overhead.workloads import CONVERSATION
from cli.operate.ports import free_port
from cli.operate.supervisor import ProcessSpec, bound_to_parent
from parley.client import Parley
from parley.protocol.client import UserMessage
from parley.protocol.server import Delta
from shared.environment import child_environment

SOCKET_TIMEOUT = 30.0  # seconds
CONCURRENT_HANDSHAKES = 50


def _gateway(place: processes.BenchServer, port: int) -> ProcessSpec:
    free = {"MAX_REQUESTS_PER_SECOND": "0", "MAX_SOCKETS_PER_USER": "0", "MAX_RUNNING_SESSIONS_PER_USER": "0"}
    return place.program("gateway", "services.gateway.app", AGENT_HOST="127.0.0.1", AGENT_PORT=str(port), **free)


# --- first token


async def time_first_tokens(folder: Path, times: int) -> list[float]:
    """Milliseconds from the model's first piece of a reply to the first piece of the draft on a socket."""
    port = free_port()
    async with running_stub() as model, processes.nats_server(folder, sync_always=True) as (place, _):
        planner = place.program("planner", "services.planner.app", OPENAI_BASE_URL=model.url, OPENAI_MODEL="instant")
        specs = [*processes.service_programs(place, ()), planner, _gateway(place, port)]
        async with processes.running(place, specs):
            await _time_first_token(port, model)  # warm-up: loads the planner's model client
            return [await _time_first_token(port, model) for _ in range(times)]


async def _time_first_token(port: int, model: ModelStub) -> float:
    async with (
        asyncio.timeout(SOCKET_TIMEOUT),
        Parley(f"http://127.0.0.1:{port}") as parley,
        parley.connect() as connection,
    ):
        await connection.send(UserMessage(type="user_message", content=CONVERSATION.request))
        await connection.until(Delta)
        return 1000 * (time.perf_counter() - model.first_piece_at)


# --- idle sockets


async def measure_idle_sockets(folder: Path, counts: Sequence[int]) -> dict[int, float]:
    """Kilobytes of gateway memory for each idle socket, by the number of sockets."""
    port = free_port()
    async with (
        processes.nats_server(folder, sync_always=False) as (place, _),
        processes.running(place, [_gateway(place, port)]) as programs,
        AsyncExitStack() as opened,
    ):
        pid = processes.pid_of(programs["gateway"])
        await _open_sockets(port, 10, opened)  # warm-up: do not count what the first sockets load
        before, open_count, kilobytes = processes.resident_bytes(pid), 0, {}
        for count in counts:
            await _open_sockets(port, count - open_count, opened)
            open_count = count
            kilobytes[count] = (processes.resident_bytes(pid) - before) / count / 1024
        return kilobytes


async def _open_sockets(port: int, count: int, opened: AsyncExitStack) -> None:
    for start in range(0, count, CONCURRENT_HANDSHAKES):
        handshakes = (_open_socket(port) for _ in range(min(CONCURRENT_HANDSHAKES, count - start)))
        for socket in await asyncio.gather(*handshakes):
            opened.push_async_callback(socket.close)


async def _open_socket(port: int) -> ClientConnection:
    socket = await connect(f"ws://127.0.0.1:{port}/ws", open_timeout=SOCKET_TIMEOUT, ping_interval=None)
    await socket.recv()
    return socket


# --- start


async def time_starts(folder: Path, times: int) -> list[float]:
    """Seconds from `parley up` until it prints ready. The first start creates streams, database and store."""
    return [await _time_start(folder) for _ in range(times)]


async def _time_start(folder: Path) -> float:
    environment = {"PARLEY_HOME": str(folder), "AGENT_PORT": str(free_port()), "REHEARSAL_PORT": str(free_port())}
    command = bound_to_parent(sys.executable, "-m", "cli.main", "up")
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command,
        env=child_environment(**environment),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout
    async with asyncio.timeout(processes.READY_TIMEOUT):
        first_line = await process.stdout.readline()
    seconds = time.perf_counter() - began
    process.terminate()
    await process.wait()
    if not first_line.startswith(b"ready "):
        raise RuntimeError(f"parley up said {first_line!r}")
    return seconds
