"""Ends a process whose event loop is blocked, so that whatever runs it starts it again.

The loop resets two clocks every BEAT_INTERVAL seconds. Neither counts time in which the process was suspended or waited
for a processor.

    CPU time     of the whole process. A regular expression, or any C code, may hold the interpreter, so that no Python
                 code runs: this timer is the kernel's, and its signal is handled in C.
    idle time    in which the loop's thread used no CPU, as in a blocking call. Another thread can run then, and counts.

Either way the stacks of all threads are written to stderr, and the exit code is EXIT_CODE.
"""

import asyncio
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

BEAT_INTERVAL = 1.0  # seconds between two resets
MIN_TIMEOUT = 2.0  # the smallest `watchdog_timeout` in seconds: an idle loop resets the clocks every BEAT_INTERVAL
EXIT_CODE = int(signal.SIGPROF)
_TICK = 0.25  # seconds between two looks at the CPU time of the loop's thread
_IDLE = 0.001  # seconds of CPU time: a thread that uses less during a tick is idle


@asynccontextmanager
async def watchdog(limit: float) -> AsyncIterator[None]:
    """Inside the block, end this process if the event loop is blocked for `limit` seconds; 0: never. Linux only."""
    if not limit or sys.platform != "linux":
        yield
        return
    _install_signal_handler()
    idle = _IdleClock(limit)

    async def beat() -> None:
        while True:
            signal.setitimer(signal.ITIMER_PROF, limit)
            idle.reset()
            await asyncio.sleep(BEAT_INTERVAL)

    beating = asyncio.create_task(beat(), name="watchdog")
    idle.start()
    try:
        yield
    finally:
        beating.cancel()
        signal.setitimer(signal.ITIMER_PROF, 0)
        idle.stop()


class _IdleClock:
    """Counts ticks, not time: a process that was suspended for an hour goes on one tick later."""

    def __init__(self, limit: float) -> None:
        """Call this in the loop's thread."""
        self._limit = limit / _TICK
        self._cpu_clock = time.pthread_getcpuclockid(threading.get_ident())
        self._ticks = 0
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._count, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def reset(self) -> None:
        self._ticks = 0

    def _count(self) -> None:
        before = time.clock_gettime(self._cpu_clock)
        while not self._stopped.wait(_TICK):
            now = time.clock_gettime(self._cpu_clock)
            self._ticks += now - before < _IDLE
            before = now
            if self._ticks >= self._limit:
                os.kill(os.getpid(), signal.SIGPROF)


def _install_signal_handler() -> None:
    """Handle SIGPROF in C: write the stacks, then call libc's `_exit` with the signal's number.

    The default action does not suffice: the first process of a container ignores it.
    """
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    libc.signal(signal.SIGPROF, ctypes.cast(libc._exit, ctypes.c_void_p))
    faulthandler.register(signal.SIGPROF, chain=True)
