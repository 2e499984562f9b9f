"""The guard of one service: `python -m shared.watchdog.guard SERVICE PID MEMORY STACKS`, started by that service.

It loads next to nothing until there is something to look into, and ends when the service has ended.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress

from shared.watchdog import ASK, BEAT, END
from shared.watchdog.memory import UNKNOWN, Memory
from shared.watchdog.silence import LOOK, Look, Silence, main_thread

SUSPICIOUS = 2 * BEAT  # seconds of silence after which the guard looks into it
_STACKS = 100_000  # bytes
_PR_SET_PDEATHSIG = 1


class Guarded:
    """The process that is watched: the one that started this program. `memory` and `stacks` are descriptors."""

    def __init__(self, service: str, pid: int, memory: int, stacks: int) -> None:
        self.service = service
        self.memory = Memory(memory)
        self.silence = Silence()
        self._stacks = stacks
        self._pid = pid

    def look(self) -> bool:
        """Look once more; False when the process has ended."""
        try:
            self.silence.seen(Look(self.memory.beat, *main_thread(self._pid)))
        except OSError:
            return False
        return os.getppid() == self._pid

    def ask(self) -> None:
        """Have it write down where it is, and for which delivery."""
        self.memory.blamed = UNKNOWN
        os.lseek(self._stacks, 0, os.SEEK_SET)
        os.ftruncate(self._stacks, 0)
        self._signal(ASK)

    @property
    def stacks(self) -> str:
        """What it has written."""
        return os.pread(self._stacks, _STACKS, 0).decode(errors="replace")

    def end(self, number: signal.Signals = END) -> None:
        """End it."""
        self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # meant for the service
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the kernel ends this program with the service
    service, *numbers = sys.argv[1:]
    guarded = Guarded(service, *map(int, numbers))
    while guarded.look():
        if guarded.silence.silent > SUSPICIOUS:
            from shared.watchdog.verdict import look_into  # noqa: PLC0415  it loads a second's worth of modules

            look_into(guarded)
        time.sleep(LOOK)


if __name__ == "__main__":
    main()
