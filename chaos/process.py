"""The processes of the deployment. They can be killed, stopped and paused; those of services restart when they end."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from chaos.crashing_service import CRASH_EXIT_CODE
from cli.operate.supervisor import bound_to_parent

ROOT = Path(__file__).parents[1]
POLL_INTERVAL = 0.1
SUITE_LOAD_PER_CPU = 3.0  # the load average per processor that the suite itself causes
RESTART_DELAY = 0.3  # seconds


class ProcessExit(NamedTuple):
    """The exit of a process. `cause`: the signal sent; "cut" for a crash at an append; "" if it ended by itself.

    `seconds` passed from the signal to the exit. For `starved_seconds` of them the process was ready to run but got no
    processor. For the last `late_seconds` the suite itself was blocked, and may have noticed the exit late.
    `load_factor`: the machine's load relative to that of the suite alone, at least 1.
    """

    program: str
    code: int
    cause: str
    seconds: float
    starved_seconds: float = 0.0
    load_factor: float = 1.0
    late_seconds: float = 0.0
    at: float = 0.0  # Unix time at which the suite noticed it


class PausableProcess:
    """A process that can be paused, and ends with this one. Its output is appended to `output`."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.is_paused = False
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        """Whether it has a process, also a paused one."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    async def pause(self) -> None:
        """Freeze it until `resume`. Its connections stay open."""
        self.is_paused = True
        self._signal(signal.SIGSTOP)

    async def resume(self) -> None:
        self.is_paused = False
        self._signal(signal.SIGCONT)

    async def _spawn(
        self, *command: str, folder: Path = ROOT, environment: Mapping[str, str] | None = None
    ) -> asyncio.subprocess.Process:
        with self.output.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *bound_to_parent(*command),
                cwd=folder,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,  # so that Ctrl-C reaches only the suite, which stops everything in order
            )
        self.is_paused = False
        return self._process

    def _signal(self, which: signal.Signals) -> None:
        if self._process and self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, which)  # asyncio's send_signal could reap the process and lose its exit code


class ServiceProcess(PausableProcess):
    """A process that is restarted until `stop`."""

    def __init__(
        self, name: str, command: tuple[str, ...], environment: Mapping[str, str], logs: Path, *, folder: Path = ROOT
    ) -> None:
        """`folder`: the checkout to run it from."""
        super().__init__(logs / f"{name}.log")
        self.name, self.service = name, name.rpartition("-")[0] or name
        self.exits: list[ProcessExit] = []
        self._command, self._environment, self._folder = command, environment, folder
        self._supervisor: asyncio.Task[None] | None = None
        self._signal_sent, self._signalled_at = "", 0.0
        self._starved = self._polled_at = 0.0
        self._starvation_watch: asyncio.Task[None] | None = None
        self._is_stopping = False

    @property
    def is_disturbed(self) -> bool:
        """Whether it is paused, ending or not running, so that no other fault should hit it."""
        return self.is_paused or bool(self._signal_sent) or not self.is_running

    async def start(self) -> None:
        """Start it, and restart it whenever it ends."""
        process = await self._start()
        self._supervisor = asyncio.create_task(self._supervise(process), name=self.name)

    def kill(self) -> None:
        """End it as a crash would. It is restarted."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """End it as an operator would. It is restarted."""
        self._end(signal.SIGTERM)

    async def resume(self) -> None:
        await super().resume()
        if self._signal_sent:
            self._signalled_at = time.monotonic()  # a frozen process could not handle the signal before

    async def stop(self, *, kill_after: float) -> None:
        """End it for good. Kill it if it has not ended after `kill_after` seconds."""
        self._is_stopping = True
        if self.is_running:
            await self.resume()
            self._end(signal.SIGTERM)
        if self._supervisor:
            _, late = await asyncio.wait({self._supervisor}, timeout=kill_after)
            if late:
                self._signal(signal.SIGKILL)
                await asyncio.wait(late, timeout=5)
                self._supervisor.cancel()

    async def _start(self) -> asyncio.subprocess.Process:
        process = await self._spawn(*self._command, folder=self._folder, environment=self._environment)
        self._signal_sent, self._signalled_at, self._starved = "", 0.0, 0.0
        return process

    async def _supervise(self, process: asyncio.subprocess.Process) -> None:
        while True:
            code, now = await process.wait(), time.monotonic()
            took, late = (
                (now - self._signalled_at, max(0.0, now - self._polled_at - POLL_INTERVAL))
                if self._signalled_at
                else (0.0, 0.0)
            )
            if self._starvation_watch:
                self._starvation_watch.cancel()
            cause = "cut" if code == CRASH_EXIT_CODE else self._signal_sent
            self.exits.append(
                ProcessExit(self.name, code, cause, took, self._starved, load_factor(), late, time.time())
            )
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # its children
            if not self._is_stopping:
                await asyncio.sleep(RESTART_DELAY)
            if self._is_stopping:
                return
            process = await self._start()

    def _end(self, how: signal.Signals) -> None:
        if self.is_running:
            self._signal_sent, self._signalled_at = how.name, time.monotonic()
            self._polled_at = self._signalled_at
            self._starvation_watch = asyncio.create_task(self._watch_starvation())
            self._signal(how)

    async def _watch_starvation(self) -> None:
        """Measure how long it waits for a processor while it exits, because its time limit must not count that."""
        pid = self.pid
        before = _run_queue_seconds(pid)
        while True:
            now, self._polled_at = _run_queue_seconds(pid), time.monotonic()
            self._starved = max((waited - before.get(thread, 0.0) for thread, waited in now.items()), default=0.0)
            await asyncio.sleep(POLL_INTERVAL)


def load_factor() -> float:
    """The factor by which to extend timeouts, which are meant for an idle machine."""
    return max(1.0, os.getloadavg()[0] / (SUITE_LOAD_PER_CPU * (os.cpu_count() or 1)))


def _run_queue_seconds(pid: int) -> dict[str, float]:
    """By thread, the seconds for which it was ready to run but got no processor. Source: Linux's schedstat."""
    seconds: dict[str, float] = {}
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError, IndexError, ValueError):
            seconds[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return seconds
