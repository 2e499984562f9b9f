"""The measured processes: a nats-server with either sync setting, and the services."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cli.operate.nats_server import find_binary, prepare
from cli.operate.supervisor import ProcessSpec, SupervisedProgram, Supervisor
from shared.bus.provision import provision
from shared.environment import child_environment
from shared.services import WORKERS
from shared.settings import Settings

CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
READY_TIMEOUT = 60.0  # seconds
STOP_TIMEOUT = 20.0  # seconds
READY_LINES = ('"event": "ready"', "Server is ready")  # of a service, and of nats-server
BARE_READY = "ready"  # the line of a bare worker

type Programs = Mapping[str, SupervisedProgram]


class BenchServer(NamedTuple):
    """A NATS server's URL, and the folder of the measurement."""

    folder: Path
    url: str

    @property
    def settings(self) -> Settings:
        return Settings(nats_url=self.url, parley_home=self.folder, database_url="", health_port=0)

    def program(self, name: str, *words: str, **more: str) -> ProcessSpec:
        """A Python program beside this server: `words` come after `python -m`, `more` are variables."""
        environment = child_environment(
            NATS_URL=self.url,
            PARLEY_HOME=str(self.folder),
            DATABASE_URL="",
            HEALTH_PORT="0",
            PARLEY_AUTH="none",
            OTEL_EXPORTER_OTLP_ENDPOINT="",
        )
        return ProcessSpec(name, (sys.executable, "-m", *words), environment | more)


def cpu_seconds(pid: int) -> float:
    """User and system CPU time of the process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """Resident memory of the process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def pid_of(program: SupervisedProgram) -> int:
    assert program.process
    return program.process.pid


@contextlib.asynccontextmanager
async def nats_server(folder: Path, *, sync_always: bool) -> AsyncIterator[tuple[BenchServer, SupervisedProgram]]:
    """A provisioned nats-server. `sync_always`: an append is on disk before it is acknowledged."""
    server = prepare(folder, durable=sync_always)
    place = BenchServer(folder, server.url)
    command = (str(find_binary()[0]), "-c", str(server.config))
    async with running(place, [ProcessSpec("nats", command, child_environment())]) as programs:
        await provision(place.settings)
        yield place, programs["nats"]


@contextlib.asynccontextmanager
async def running(place: BenchServer, specs: Iterable[ProcessSpec]) -> AsyncIterator[Programs]:
    """Start all programs and wait until they are ready. Stop them at the end of the block."""
    logs = place.folder / "logs"
    async with Supervisor(logs, line=_ignore, note=_ignore, is_ready=_is_ready, grace=STOP_TIMEOUT) as supervisor:
        programs = {spec.name: supervisor.start(spec) for spec in specs}
        for name, program in programs.items():
            try:
                await asyncio.wait_for(program.ready.wait(), READY_TIMEOUT)
            except TimeoutError:
                log = (logs / f"{name}.log").read_text(errors="replace")
                raise RuntimeError(f"{name} does not get ready:\n{log[-2000:]}") from None
        yield programs


def _ignore(_name: str, _text: str) -> None:
    """Output and ends are in the log files."""


def _is_ready(line: str) -> bool:
    return line == BARE_READY or any(part in line for part in READY_LINES)


def service_programs(place: BenchServer, workers: Iterable[str] = WORKERS) -> list[ProcessSpec]:
    """plan_store, and these workers with a model that replies instantly."""
    store = place.program("plan_store", "services.plan_store.app")
    return [store, *(place.program(name, "bench.overhead.worker_process", name) for name in workers)]


def bare_programs(place: BenchServer, workers: Iterable[str], recording: Path) -> list[ProcessSpec]:
    """The same programs on bare NATS. `recording`: the file with the recording."""
    return [
        place.program(name, "bench.overhead.bare_nats", name, place.url, str(recording))
        for name in ("plan_store", *workers)
    ]


@contextlib.contextmanager
def cpu_times(programs: Programs) -> Iterator[dict[str, float]]:
    """The CPU seconds of each program within the block, available after the block."""
    pids = {name: pid_of(program) for name, program in programs.items()} | {"person": os.getpid()}
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    taken: dict[str, float] = {}
    yield taken
    taken.update({name: cpu_seconds(pid) - before[name] for name, pid in pids.items()})
