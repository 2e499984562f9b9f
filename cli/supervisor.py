"""Runs programs side by side: started again when they end by themselves, stopped together, never left behind."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import makeLogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Self

from cli.spawn import tied
from shared.watchdog import END

FIRST_DELAY, LONGEST_DELAY, STEADY_AFTER = 0.5, 15.0, 10.0
_LOG_BYTES = 10_000_000
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Program:
    """One program to keep running; `env` is its whole environment."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


@dataclass
class Child:
    """A program while it is supervised."""

    program: Program
    task: asyncio.Task[None] = field(init=False)
    process: Process | None = None
    ready: asyncio.Event = field(default_factory=asyncio.Event)  # its log has said so; cleared when it ends
    exits: int = 0


def next_delay(previous: float, *, lived: float) -> float:
    """Seconds to wait before a program that lived for `lived` seconds is started again; `previous` is 0 at first."""
    return FIRST_DELAY if not previous or lived >= STEADY_AFTER else min(previous * 2, LONGEST_DELAY)


class Supervisor:
    """`async with Supervisor(...) as supervisor: supervisor.start(program)`; leaving the block stops what was started.

    `line(name, text)` is called for every line a program writes, `note(name, text)` for what happens to it; every line
    is also kept in `logs`/<name>.log (10 MB, and the 10 MB before). `is_ready(text)` tells a line that says "I am up".
    A program has `grace` seconds between SIGTERM and SIGKILL; both go to its whole process group.
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
        self.children: dict[str, Child] = {}

    def start(self, program: Program) -> Child:
        """Start `program` and keep it running."""
        child = self.children[program.name] = Child(program)
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

    async def _keep_running(self, child: Child) -> None:
        loop, delay = asyncio.get_running_loop(), 0.0
        while not self._stopping.is_set():
            began = loop.time()
            how = await self._run(child)
            if self._stopping.is_set():
                return
            child.exits += 1
            delay = next_delay(delay, lived=loop.time() - began)
            self._note(child.program.name, f"{how}; starting it again in {delay:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), delay)

    async def _run(self, child: Child) -> str:
        """Run the program once, to its end or until all are stopped; in words how it ended."""
        # A pipe of our own: asyncio's would have wait() last until whatever the program started has ended, too.
        output, its_end = os.pipe()
        reader = asyncio.create_task(self._read(child, output))
        try:
            process = child.process = await asyncio.create_subprocess_exec(
                *tied(*child.program.argv),
                env=child.program.env,
                stdin=DEVNULL,
                stdout=its_end,
                stderr=STDOUT,
                process_group=0,  # a Ctrl-C in the terminal reaches us alone, and we stop the others in order
            )
        finally:
            os.close(its_end)
        ended, stop = asyncio.create_task(process.wait()), asyncio.create_task(self._stopping.wait())
        await asyncio.wait({ended, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not ended.done():
            await self._terminate(child.program.name, process, ended)
        # What it may have started itself ends with it; only then is the pipe closed, and read to its end.
        _signal_group(process, signal.SIGKILL)
        await reader
        child.process = None
        child.ready.clear()
        return _in_words(await ended)

    async def _terminate(self, name: str, process: Process, ended: asyncio.Task[int]) -> None:
        _signal_group(process, signal.SIGTERM)
        await asyncio.wait({ended}, timeout=self._grace)
        if not ended.done():
            _signal_group(process, signal.SIGKILL)
            self._note(name, f"did not stop within {self._grace:g} s and was killed")
        if (code := await ended) not in (0, -signal.SIGTERM, -signal.SIGKILL):
            self._note(name, f"{_in_words(code)} while stopping")

    async def _read(self, child: Child, output: int) -> None:
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
                if not self._stopping.is_set():  # their farewells are of interest to the log alone
                    self._line(name, text)


async def _next_line(lines: asyncio.StreamReader) -> bytes:
    """The next line, b"" at the end. Of one that is too long only this is told."""
    try:
        return await lines.readline()
    except ValueError:
        return b"(a line of more than 1 MB is left out)\n"


def _signal_group(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _in_words(code: int) -> str:
    if code == END:
        return "was ended by its watchdog, because its event loop was blocked"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
