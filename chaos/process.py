"""One program of the world under trial: started, ended, paused by its pid alone, and what its ends were like."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from chaos.cut_service import CODE
from cli.spawn import tied

ROOT = Path(__file__).parents[1]
LOOK = 0.1
OURS = 3.0  # programs that want to run, for each processor: so many the suite itself brings along
AGAIN = 0.3  # seconds until a program that ended is started again


class Exit(NamedTuple):
    """One end of a program. `asked`: the signal it was sent, `seconds` later it was gone; "cut" where it was to end at
    an append, "" if it ended by itself.

    For `starved` of these seconds it was ready to run, and the machine ran others; for the last `late` the suite stood
    still, and may have seen the end too late. `crowd`: how many times more programs wanted to run then than the suite
    itself brings along, 1 at the least.
    """

    program: str
    code: int
    asked: str
    seconds: float
    starved: float = 0.0
    crowd: float = 1.0
    late: float = 0.0
    at: float = 0.0  # unix time at which the suite saw it


class Process:
    """A program that is kept running until `stop`; what it says is in its log."""

    def __init__(
        self, name: str, command: tuple[str, ...], environment: Mapping[str, str], logs: Path, *, folder: Path = ROOT
    ) -> None:
        """`folder`: the checkout that it runs from."""
        self.name, self.service = name, name.rpartition("-")[0] or name
        self.exits: list[Exit] = []
        self._command, self._environment, self._log = command, environment, logs / f"{name}.log"
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._asked, self._since = "", 0.0
        self._starved = self._looked = 0.0
        self._watch: asyncio.Task[None] | None = None
        self._paused = False
        self._leaving = False

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def busy(self) -> bool:
        """Something is being done to it already: it is paused, ending, or not up."""
        return self._paused or bool(self._asked) or not self.alive

    async def start(self) -> None:
        """Run it, and run it again whenever it ends."""
        await self._begin()
        self._keeper = asyncio.create_task(self._keep(), name=self.name)

    def kill(self) -> None:
        """As a crash would end it; it is started again."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """As an operator would end it; it is started again."""
        self._end(signal.SIGTERM)

    def pause(self) -> None:
        """It does nothing until `go_on`, and does not know of it."""
        self._paused = True
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._paused = False
        self._signal(signal.SIGCONT)
        if self._asked:
            self._since = time.monotonic()  # it could not hear the signal before

    async def stop(self, *, patience: float) -> None:
        """End it for good; `patience` seconds after that it is killed."""
        self._leaving = True
        if self.alive:
            self.go_on()
            self._end(signal.SIGTERM)
        if self._keeper:
            _, late = await asyncio.wait({self._keeper}, timeout=patience)
            if late:
                self._signal(signal.SIGKILL)
                await asyncio.wait(late, timeout=5)
                self._keeper.cancel()

    async def _begin(self) -> None:
        with self._log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *tied(*self._command),
                cwd=self._folder,
                env=dict(self._environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                process_group=0,  # a Ctrl-C is for us: we end the world in order
            )
        self._asked, self._since, self._paused, self._starved = "", 0.0, False, 0.0

    async def _keep(self) -> None:
        while self._process:
            pid = self._process.pid
            code = await self._process.wait()
            now = time.monotonic()
            took, late = (now - self._since, max(0.0, now - self._looked - LOOK)) if self._since else (0.0, 0.0)
            if self._watch:
                self._watch.cancel()
            asked = "cut" if code == CODE else self._asked
            self.exits.append(Exit(self.name, code, asked, took, self._starved, crowd(), late, time.time()))
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # what it started and left behind
            if self._leaving:
                return
            await asyncio.sleep(AGAIN)
            if self._leaving:
                return
            await self._begin()

    def _end(self, how: signal.Signals) -> None:
        if self.alive:
            self._asked, self._since = how.name, time.monotonic()
            self._looked = self._since
            self._watch = asyncio.create_task(self._see_it_starve())
            self._signal(how)

    async def _see_it_starve(self) -> None:
        """While it leaves: a limit in seconds is for a machine that lets it run."""
        pid = self._process.pid if self._process else 0
        before = _queued(pid)
        while True:
            now, self._looked = _queued(pid), time.monotonic()
            self._starved = max((waited - before.get(thread, 0.0) for thread, waited in now.items()), default=0.0)
            await asyncio.sleep(LOOK)

    def _signal(self, which: signal.Signals) -> None:
        if self._process and self.alive:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, which)  # asyncio's would take the exit code away from who waits for it


def crowd() -> float:
    """Times are meant for a machine that does little else: on a crowded one everything takes so many times longer."""
    return max(1.0, os.getloadavg()[0] / (OURS * (os.cpu_count() or 1)))


def _queued(pid: int) -> dict[str, float]:
    """By thread, the seconds for which it was ready to run and did not (Linux tells)."""
    found: dict[str, float] = {}
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError, IndexError, ValueError):
            found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return found
