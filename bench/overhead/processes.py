"""The measured processes: a nats-server with either sync setting, and the services."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cli.operate.nats_server import find_binary, probe
from cli.operate.ports import free_port
from cli.operate.supervisor import bound_to_parent
from shared.bus.provision import provision
from shared.environment import child_environment
from shared.services import WORKERS
from shared.settings import Settings

CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
READY_TIMEOUT = 60.0  # seconds


class BenchServer(NamedTuple):
    """A NATS server's URL, and the folder of the measurement."""

    folder: Path
    url: str

    @property
    def settings(self) -> Settings:
        return Settings(nats_url=self.url, parley_home=self.folder, database_url="", health_port=0)

    def environment(self) -> dict[str, str]:
        return child_environment(
            NATS_URL=self.url,
            PARLEY_HOME=str(self.folder),
            DATABASE_URL="",
            HEALTH_PORT="0",
            PARLEY_AUTH="none",
            OTEL_EXPORTER_OTLP_ENDPOINT="",
        )


class ChildProcess:
    """A child process that reports on stderr when it is ready. Its stderr is copied to its log."""

    def __init__(self, name: str, command: tuple[str, ...], place: BenchServer, **more: str) -> None:
        self.name = name
        self._command, self._environment = bound_to_parent(*command), place.environment() | more
        self._log = place.folder / "logs" / f"{name}.log"
        self._ready = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            *self._command, env=self._environment, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
        )
        self._reading = asyncio.create_task(self._read(self._process))

    async def wait_until_ready(self) -> None:
        """Wait until the process is ready. Raises RuntimeError if it ends or times out."""
        assert self._reading
        ready = asyncio.create_task(self._ready.wait())
        await asyncio.wait({ready, self._reading}, timeout=READY_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not self._ready.is_set():
            raise RuntimeError(f"{self.name} does not get ready:\n{self._log.read_text(errors='replace')[-2000:]}")

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr
        with self._log.open("ab") as file:
            async for line in process.stderr:
                file.write(line)
                if line == b"ready\n" or b'"event": "ready"' in line:
                    self._ready.set()

    async def stop(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), 20)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        if self._reading:
            await asyncio.gather(self._reading, return_exceptions=True)

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid


def cpu_seconds(pid: int) -> float:
    """User and system CPU time of the process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """Resident memory of the process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def _write_config(folder: Path, port: int, *, sync_always: bool) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config, store = folder / "nats.conf", json.dumps(str(folder / "store"))
    sync = ", sync_interval: always" if sync_always else ""
    config.write_text(f'host: "127.0.0.1"\nport: {port}\nmax_payload: 4MB\njetstream {{ store_dir: {store}{sync} }}\n')
    return config


@contextlib.asynccontextmanager
async def nats_server(folder: Path, *, sync_always: bool) -> AsyncIterator[tuple[BenchServer, ChildProcess]]:
    """A provisioned nats-server. `sync_always`: an append is on disk before it is acknowledged."""
    port = free_port()
    config = _write_config(folder, port, sync_always=sync_always)
    place = BenchServer(folder, f"nats://127.0.0.1:{port}")
    process = ChildProcess("nats", (str(find_binary()[0]), "-c", str(config)), place)
    await process.start()
    try:
        async with asyncio.timeout(READY_TIMEOUT):
            while True:
                with contextlib.suppress(OSError):
                    if (await asyncio.to_thread(probe, place.url)).jetstream:
                        break
                await asyncio.sleep(0.02)
        await provision(place.settings)
        yield place, process
    finally:
        await process.stop()


@contextlib.asynccontextmanager
async def running(processes: Mapping[str, ChildProcess]) -> AsyncIterator[Mapping[str, ChildProcess]]:
    """Start all processes and wait until they are ready. Stop them at the end of the block."""
    try:
        for process in processes.values():
            await process.start()
        await asyncio.gather(*(process.wait_until_ready() for process in processes.values()))
        yield processes
    finally:
        await asyncio.gather(*(process.stop() for process in processes.values()))


def service_processes(place: BenchServer, workers: Iterable[str] = WORKERS) -> dict[str, ChildProcess]:
    """plan_store, and these workers with a model that replies instantly."""
    store = ChildProcess("plan_store", (sys.executable, "-m", "services.plan_store.app"), place)
    each = (
        ChildProcess(name, (sys.executable, "-m", "bench.overhead.worker_process", name), place) for name in workers
    )
    return {process.name: process for process in (store, *each)}


def bare_processes(place: BenchServer, workers: Iterable[str], recording: Path) -> dict[str, ChildProcess]:
    """The same processes on bare NATS. `recording`: the file with the recording."""
    command = (sys.executable, "-m", "bench.overhead.bare_nats")
    return {
        name: ChildProcess(name, (*command, name, place.url, str(recording)), place)
        for name in ("plan_store", *workers)
    }


@contextlib.contextmanager
def cpu_times(processes: Mapping[str, ChildProcess]) -> Iterator[dict[str, float]]:
    """The CPU seconds of each process within the block, available after the block."""
    pids = {name: process.pid for name, process in processes.items()} | {"person": os.getpid()}
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    taken: dict[str, float] = {}
    yield taken
    taken.update({name: cpu_seconds(pid) - before[name] for name, pid in pids.items()})
