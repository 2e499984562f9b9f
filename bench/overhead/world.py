"""The processes that are measured: a nats-server with either kind of flushing, and the services."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cli.nats_server import find_binary, probe
from cli.ports import free_port
from cli.spawn import tied
from shared.bus.provision import provision
from shared.environment import child_environment
from shared.services import WORKERS
from shared.settings import Settings

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PATIENCE = 60.0  # seconds that a process has to be ready


class Place(NamedTuple):
    """A server and the folder of everything that belongs to this measurement."""

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


class Process:
    """A child process that writes to stderr when it is ready; all that it writes goes to its log."""

    def __init__(self, name: str, command: tuple[str, ...], place: Place, **more: str) -> None:
        self.name = name
        self._command, self._environment = tied(*command), place.environment() | more
        self._log = place.folder / "logs" / f"{name}.log"
        self._said = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            *self._command, env=self._environment, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
        )
        self._reading = asyncio.create_task(self._read(self._process))

    async def ready(self) -> None:
        """Wait for it. Raises RuntimeError when it ends instead."""
        assert self._reading
        said = asyncio.create_task(self._said.wait())
        await asyncio.wait({said, self._reading}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        said.cancel()
        if not self._said.is_set():
            raise RuntimeError(f"{self.name} does not get ready:\n{self._log.read_text(errors='replace')[-2000:]}")

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr
        with self._log.open("ab") as file:
            async for line in process.stderr:
                file.write(line)
                if line == b"ready\n" or b'"event": "ready"' in line:
                    self._said.set()

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
    """User and system time of the process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident(pid: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def _configured(folder: Path, port: int, *, always: bool) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config, store = folder / "nats.conf", json.dumps(str(folder / "store"))
    sync = ", sync_interval: always" if always else ""
    config.write_text(f'host: "127.0.0.1"\nport: {port}\nmax_payload: 4MB\njetstream {{ store_dir: {store}{sync} }}\n')
    return config


@contextlib.asynccontextmanager
async def server(folder: Path, *, always: bool) -> AsyncIterator[tuple[Place, Process]]:
    """A provisioned nats-server. `always`: an append is on the disk before it is acknowledged."""
    port = free_port()
    config = _configured(folder, port, always=always)
    place = Place(folder, f"nats://127.0.0.1:{port}")
    process = Process("nats", (str(find_binary()[0]), "-c", str(config)), place)
    await process.start()
    try:
        async with asyncio.timeout(PATIENCE):
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
async def running(processes: Mapping[str, Process]) -> AsyncIterator[Mapping[str, Process]]:
    """All of them, ready; ended afterwards."""
    try:
        for process in processes.values():
            await process.start()
        await asyncio.gather(*(process.ready() for process in processes.values()))
        yield processes
    finally:
        await asyncio.gather(*(process.stop() for process in processes.values()))


def services(place: Place, workers: Iterable[str] = WORKERS) -> dict[str, Process]:
    """plan_store, and these workers with a model that answers at once."""
    store = Process("plan_store", (sys.executable, "-m", "services.plan_store.app"), place)
    each = (Process(name, (sys.executable, "-m", "bench.overhead.service", name), place) for name in workers)
    return {one.name: one for one in (store, *each)}


def bare(place: Place, workers: Iterable[str], lines: Path) -> dict[str, Process]:
    """The same processes without Parley; `lines` is the file with the recorded session."""
    command = (sys.executable, "-m", "bench.overhead.bare")
    return {name: Process(name, (*command, name, place.url, str(lines)), place) for name in ("plan_store", *workers)}


@contextlib.contextmanager
def clocked(processes: Mapping[str, Process]) -> Iterator[dict[str, float]]:
    """The CPU seconds of each process within the block; filled in when the block ends."""
    pids = {name: process.pid for name, process in processes.items()} | {"person": os.getpid()}
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    taken: dict[str, float] = {}
    yield taken
    taken.update({name: cpu_seconds(pid) - before[name] for name, pid in pids.items()})
