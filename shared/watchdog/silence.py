"""Since when an event loop is silent, and how much of that time it was really blocked.

Only time in which the process could have beaten counts, so that nothing but the process itself is to blame:
a stopped process (SIGSTOP, a debugger) is not blocked, nor is one that waits for a processor on a crowded machine. Time
is counted in looks and not by the clock, because a container or a machine that was suspended stops the guard, too.
"""

import os
from pathlib import Path
from typing import NamedTuple

LOOK = 0.5  # seconds between two looks
STOPPED, WAITING = "Tt", "SD"  # states of the main thread: stopped, traced; asleep, or in the kernel


class Look(NamedTuple):
    """What is seen of a process: its heartbeat, its main thread's state, and the CPU seconds of that thread."""

    beat: int
    state: str
    cpu: float


class Silence:
    """`silent` are the seconds since the last heartbeat; `blocked` those of them in which the loop was blocked."""

    def __init__(self) -> None:
        self.silent = self.blocked = 0.0
        self._last = Look(0, "", 0)

    def seen(self, look: Look) -> None:
        """One more look."""
        last, self._last = self._last, look
        if not look.beat or look.beat != last.beat or look.state in STOPPED:
            self.silent = self.blocked = 0.0
            return
        self.silent += LOOK
        self.blocked += LOOK if look.state in WAITING else min(look.cpu - last.cpu, LOOK)


def main_thread(pid: int) -> tuple[str, float]:
    """State of the process's main thread, and the CPU time it has used. Raises OSError when the process is gone."""
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
