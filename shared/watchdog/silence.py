"""Measures how long an event loop has been silent, and how much of that time it was blocked.

Only time in which the process could run counts as blocked. A stopped process (SIGSTOP, a debugger) is not blocked, nor
is one that waits for a CPU on a busy machine. Time is counted in samples, not by the clock, because suspending a
container or machine also suspends the guard.
"""

import os
from pathlib import Path
from typing import NamedTuple

SAMPLE_INTERVAL = 0.5  # seconds between two samples
STOPPED, WAITING = "Tt", "SD"  # states of the main thread: stopped or traced; asleep or in the kernel


class Sample(NamedTuple):
    """A process's heartbeat, and its main thread's state and CPU seconds."""

    beat: int
    state: str
    cpu: float


class Silence:
    """`silent`: seconds since the last heartbeat. `blocked`: how many of them the loop was blocked."""

    def __init__(self) -> None:
        self.silent = self.blocked = 0.0
        self._last = Sample(0, "", 0)

    def add(self, sample: Sample) -> None:
        """Add a sample."""
        last, self._last = self._last, sample
        if not sample.beat or sample.beat != last.beat or sample.state in STOPPED:
            self.silent = self.blocked = 0.0
            return
        self.silent += SAMPLE_INTERVAL
        self.blocked += SAMPLE_INTERVAL if sample.state in WAITING else min(sample.cpu - last.cpu, SAMPLE_INTERVAL)


def main_thread_state(pid: int) -> tuple[str, float]:
    """State of the process's main thread, and the CPU time it has used. Raises OSError if the process has ended."""
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
