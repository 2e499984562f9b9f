"""Supervises programs: restarts those that exit, stops all together, and leaves none behind."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import makeLogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Self

from shared.watchdog import EXIT_CODE

FIRST_DELAY, LONGEST_DELAY, STEADY_AFTER = 0.5, 15.0, 10.0
_LOG_BYTES = 10_000_000
_LONGEST_LINE = 1 << 20

# The child asks the kernel to be killed with its parent (PR_SET_PDEATHSIG), then executes the program. A preexec_fn
# would be unsafe in a process with threads. SIGKILL, because an orphaned child has nowhere to drain to: the broker ends
# too, and the log keeps what was not acknowledged. The parent may die before this call: then the parent id has changed,
# and the child exits.
_BIND_TO_PARENT = """
import ctypes, os, signal, sys
parent, program = int(sys.argv[1]), sys.argv[2:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    sys.exit("the process that started this one has ended")
os.execvp(program[0], program)
"""


def bound_to_parent(*program: str) -> tuple[str, ...]:
    """A command line for `program` as a child that the kernel kills when this process ends, however it ends.

    This works on Linux only. The kernel watches the thread that starts the child, so start it from a thread that lives
    as long as the child should.
    """
    return (sys.executable, "-I", "-S", "-c", _BIND_TO_PARENT, str(os.getpid()), *program)


@dataclass(frozen=True)
class ProcessSpec:
    """A program to keep running; `env` is its complete environment."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass
class SupervisedProgram:
    """A supervised program and its current process."""

    program: ProcessSpec
    task: asyncio.Task[None] = field(init=False)
    process: Process | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)  # set by its log line; cleared when the process ends
    exits: int = 0


def next_delay(previous: float, *, lived: float) -> float:
    """Seconds before a restart of a program that ran for `lived` seconds; `previous` is 0 at first."""
    return FIRST_DELAY if not previous or lived >= STEADY_AFTER else min(previous * 2, LONGEST_DELAY)


class Supervisor:
    """Use `async with Supervisor(...) as supervisor: supervisor.start(program)`; leaving the block stops all programs.

    `line(name, text)` is called for every line of output, `note(name, text)` for every exit and restart. Output also
    goes to `logs`/<name>.log (10 MB, and the 10 MB before). `is_ready(text)` recognises the line that reports
    readiness. A program has `grace` seconds between SIGTERM and SIGKILL; both go to its process group.
    """

    def __init__(
        self,
        logs: Path,
        *,
        line: Callable[[str, str], None],
        note: Callable[[str, str], None],
        is_ready: Callable[[str], bool] = lambda _text: False,
        grace: float = 4.0,
    ) -> None:
        self._logs, self._line, self._note, self._is_ready, self._grace = logs, line, note, is_ready, grace
        self._stopping = asyncio.Event()
        self.children: dict[str, SupervisedProgram] = {}

    def start(self, program: ProcessSpec) -> SupervisedProgram:
        """Start `program` and keep it running."""
        child = self.children[program.name] = SupervisedProgram(program)
        child.task = asyncio.create_task(self._keep_running(child), name=program.name)
        return child

    async def __aenter__(self) -> Self:
        self._logs.mkdir(parents=True, exist_ok=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        for outcome in await asyncio.gather(*(child.task for child in self.children.values()), return_exceptions=True):
            if error is None and isinstance(outcome, BaseException):
                raise outcome

    async def _keep_running(self, child: SupervisedProgram) -> None:
        loop, delay = asyncio.get_running_loop(), 0.0
        while not self._stopping.is_set():
            started_at = loop.time()
            ending = await self._run(child)
            if self._stopping.is_set():
                return
            child.exits += 1
            delay = next_delay(delay, lived=loop.time() - started_at)
            self._note(child.program.name, f"{ending}; starting it again in {delay:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)

    async def _run(self, child: SupervisedProgram) -> str:
        """Run the program once, until it exits or all are stopped. Returns how it ended, in words."""
        # Not asyncio's pipe: with that, wait() would also wait for the program's own children.
        output, write_end = os.pipe()
        reader = asyncio.create_task(self._read(child, output))
        try:
            process = child.process = await asyncio.create_subprocess_exec(
                *bound_to_parent(*child.program.argv),
                env=child.program.env,
                stdin=DEVNULL,
                stdout=write_end,
                stderr=STDOUT,
                process_group=0,  # so that Ctrl-C reaches only this process, which stops the others in order
            )
        finally:
            os.close(write_end)
        ended, stop = asyncio.create_task(process.wait()), asyncio.create_task(self._stopping.wait())
        await asyncio.wait({ended, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not ended.done():
            await self._terminate(child.program.name, process, ended)
        # Kill the program's own children too: only then is the pipe closed and read to its end.
        _signal_group(process, signal.SIGKILL)
        await reader
        child.process = None
        child.ready.clear()
        return _exit_description(await ended)

    async def _terminate(self, name: str, process: Process, ended: asyncio.Task[int]) -> None:
        _signal_group(process, signal.SIGTERM)
        await asyncio.wait({ended}, timeout=self._grace)
        if not ended.done():
            _signal_group(process, signal.SIGKILL)
            self._note(name, f"did not stop within {self._grace:g} s and was killed")
        if (code := await ended) not in (0, -signal.SIGTERM, -signal.SIGKILL):
            self._note(name, f"{_exit_description(code)} while stopping")

    async def _read(self, child: SupervisedProgram, output: int) -> None:
        name, lines = child.program.name, asyncio.StreamReader(limit=_LONGEST_LINE)
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(output, "rb", buffering=0)
        )
        log = RotatingFileHandler(self._logs / f"{name}.log", maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
        with contextlib.closing(pipe), contextlib.closing(log):
            while raw := await _next_line(lines):
                text = raw.decode(errors="replace").rstrip()
                log.emit(makeLogRecord({"msg": text}))
                if self._is_ready(text):
                    child.ready.set()
                if not self._stopping.is_set():  # output during shutdown goes to the log file only
                    self._line(name, text)


async def _next_line(lines: asyncio.StreamReader) -> bytes:
    """The next line, b"" at the end. A line that is too long is replaced by a notice."""
    try:
        return await lines.readline()
    except ValueError:
        return b"(a line of more than 1 MB is left out)\n"


def _signal_group(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _exit_description(code: int) -> str:
    if code == EXIT_CODE:
        return "was ended by its watchdog, because its event loop was blocked"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
