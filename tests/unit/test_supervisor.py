"""Programs that exit, crash, refuse to stop or have children, and a supervisor that is killed."""

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cli.operate.supervisor import FIRST_DELAY, LONGEST_DELAY, STEADY_AFTER, ProcessSpec, Supervisor, next_delay
from tests.support.timeouts import WAIT_TIMEOUT

WAITS = "import signal; print('up', flush=True); signal.pause()"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True)\nwhile True: signal.pause()"
)
CRASHES = "import sys; print('Traceback: oh no', flush=True); sys.exit(3)"


class Terminal:
    """Records lines, and lets a test wait for one."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.notes: list[tuple[str, str]] = []
        self._changed = asyncio.Event()

    def line(self, name: str, text: str) -> None:
        self.lines.append((name, text))
        self._changed.set()

    def note(self, name: str, text: str) -> None:
        self.notes.append((name, text))
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not condition():
                await self._changed.wait()
                self._changed.clear()


def program(name: str, code: str) -> ProcessSpec:
    return ProcessSpec(name, (sys.executable, "-c", code), dict(os.environ))


def supervisor(terminal: Terminal, logs: Path, *, grace: float = 4.0) -> Supervisor:
    return Supervisor(
        logs, line=terminal.line, note=terminal.note, is_ready=lambda text: text.startswith("up"), grace=grace
    )


def has_ended(pidfd: int, *, seconds: float = WAIT_TIMEOUT) -> bool:
    """Whether the process ends within this time: its descriptor then becomes readable."""
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


async def test_a_program_that_exits_is_restarted_with_growing_delays(tmp_path: Path) -> None:
    terminal = Terminal()
    async with supervisor(terminal, tmp_path) as programs:
        child = programs.start(program("bad", CRASHES))
        await terminal.until(lambda: len(terminal.notes) >= 2)
        assert not child.ready.is_set()
        assert child.exits >= 2
    assert terminal.notes[:2] == [
        ("bad", "exited with code 3; starting it again in 0.5 s"),
        ("bad", "exited with code 3; starting it again in 1 s"),
    ]
    assert ("bad", "Traceback: oh no") in terminal.lines


async def test_a_killed_program_is_restarted(tmp_path: Path) -> None:
    terminal = Terminal()
    async with supervisor(terminal, tmp_path) as programs:
        child = programs.start(program("a", WAITS))
        await asyncio.wait_for(child.ready.wait(), WAIT_TIMEOUT)
        assert child.process
        first = child.process.pid
        child.process.kill()
        await terminal.until(lambda: terminal.lines.count(("a", "up")) == 2)
        assert child.process.pid != first
    assert terminal.notes == [("a", "was ended by SIGKILL; starting it again in 0.5 s")]


async def test_a_program_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    terminal = Terminal()
    async with supervisor(terminal, tmp_path, grace=0.2) as programs:
        child = programs.start(program("mule", STUBBORN))
        await asyncio.wait_for(child.ready.wait(), WAIT_TIMEOUT)
    assert terminal.notes == [("mule", "did not stop within 0.2 s and was killed")]


async def test_the_children_of_a_program_end_with_it(tmp_path: Path) -> None:
    code = f"""
import subprocess, sys
print("up", subprocess.Popen([sys.executable, "-c", {STUBBORN!r}]).pid, flush=True)
sys.exit(1)
"""
    terminal = Terminal()
    async with supervisor(terminal, tmp_path) as programs:
        programs.start(program("parent", code))
        await terminal.until(lambda: bool(terminal.notes))
        grandchild = int(next(text for _, text in terminal.lines if text.startswith("up ")).split()[1])
        with contextlib.suppress(ProcessLookupError):  # it has already ended
            assert has_ended(os.pidfd_open(grandchild))


async def test_a_program_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    terminal = Terminal()
    async with supervisor(terminal, tmp_path) as programs:
        programs.start(ProcessSpec("none", ("/nonexistent/program",), dict(os.environ)))
        await terminal.until(lambda: bool(terminal.notes))
    assert any("No such file" in text for _, text in terminal.lines)


async def test_a_very_long_line_does_not_stop_reading(tmp_path: Path) -> None:
    terminal = Terminal()
    async with supervisor(terminal, tmp_path) as programs:
        programs.start(program("long", f"print('x' * 3_000_000); print('after', flush=True); {WAITS}"))
        await terminal.until(lambda: ("long", "up") in terminal.lines)
    assert ("long", "after") in terminal.lines


def test_the_children_of_a_killed_supervisor_end_with_it(tmp_path: Path) -> None:
    code = textwrap.dedent(f"""
        import asyncio, os, sys
        from pathlib import Path
        from cli.operate.supervisor import ProcessSpec, Supervisor

        async def main():
            def tell(name, text):
                print(programs.children[name].process.pid, flush=True)

            async with Supervisor(Path({str(tmp_path)!r}), line=tell, note=tell) as programs:
                programs.start(ProcessSpec("mule", (sys.executable, "-c", {STUBBORN!r}), dict(os.environ)))
                await asyncio.Event().wait()

        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        child = os.pidfd_open(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)
        assert has_ended(child)


@given(st.lists(st.floats(min_value=0, max_value=STEADY_AFTER, exclude_max=True), min_size=2, max_size=20))
def test_the_delay_doubles_up_to_a_limit_and_resets_after_a_long_run(lives: list[float]) -> None:
    delays = [0.0]
    for lived in lives:
        delays.append(next_delay(delays[-1], lived=lived))
    assert delays[1] == FIRST_DELAY
    assert all(after == min(before * 2, LONGEST_DELAY) for before, after in pairwise(delays[1:]))
    assert next_delay(delays[-1], lived=STEADY_AFTER) == FIRST_DELAY
