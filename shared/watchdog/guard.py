"""The guard of one service: `python -m shared.watchdog.guard SERVICE PID MEMORY STACKS`, started by that service.

It loads very little until the service is silent, and ends with the service.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress

from shared.watchdog import ASK_SIGNAL, BEAT_INTERVAL, END_SIGNAL
from shared.watchdog.memory import UNKNOWN, SharedMemory
from shared.watchdog.silence import SAMPLE_INTERVAL, Sample, Silence, main_thread_state

SUSPICION_AFTER = 2 * BEAT_INTERVAL  # seconds of silence after which the guard investigates
_STACKS = 100_000  # bytes
_PR_SET_PDEATHSIG = 1


class GuardedProcess:
    """The watched process, which started this program. `memory` and `stacks` are file descriptors."""

    def __init__(self, service: str, pid: int, memory: int, stacks: int) -> None:
        self.service = service
        self.memory = SharedMemory(memory)
        self.silence = Silence()
        self._stacks = stacks
        self._pid = pid

    def refresh(self) -> bool:
        """Take a sample. False if the process has ended."""
        try:
            self.silence.add(Sample(self.memory.beat, *main_thread_state(self._pid)))
        except OSError:
            return False
        return os.getppid() == self._pid

    def request_stacks(self) -> None:
        """Signal the process to write its stack traces and name the running delivery."""
        self.memory.blocking_delivery = UNKNOWN
        os.lseek(self._stacks, 0, os.SEEK_SET)
        os.ftruncate(self._stacks, 0)
        self._signal(ASK_SIGNAL)

    @property
    def stacks(self) -> str:
        """The stack traces that the process has written."""
        return os.pread(self._stacks, _STACKS, 0).decode(errors="replace")

    def end(self, number: signal.Signals = END_SIGNAL) -> None:
        """Kill the process with this signal."""
        self._signal(number)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, number)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # meant for the service
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the kernel ends this program with the service
    service, *numbers = sys.argv[1:]
    guarded = GuardedProcess(service, *map(int, numbers))
    while guarded.refresh():
        if guarded.silence.silent > SUSPICION_AFTER:
            from shared.watchdog.blocked_process import watch_blocked_process  # noqa: PLC0415  it takes a second to import

            watch_blocked_process(guarded)
        time.sleep(SAMPLE_INTERVAL)


if __name__ == "__main__":
    main()
