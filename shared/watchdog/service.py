"""The service's side of the watchdog: it starts the guard, sends heartbeats and answers the guard's signals."""

import contextlib
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from types import FrameType

import structlog

from shared.settings import Settings
from shared.watchdog import ASK_SIGNAL, END_SIGNAL
from shared.watchdog.memory import NO_DELIVERY, SharedMemory, create_memory

log = structlog.get_logger("watchdog")
_running: ContextVar[int] = ContextVar("_running", default=NO_DELIVERY)  # the number of the running delivery


class Watchdog:
    """The watchdog of this process. Before `guarded` is entered, its methods do nothing."""

    def __init__(self) -> None:
        self._memory: SharedMemory | None = None
        self._command: tuple[str, ...] = ()
        self._descriptors: tuple[int, ...] = ()
        self._guard: subprocess.Popen[bytes] | None = None
        self._beats = 0

    @contextlib.contextmanager
    def guarded(self, service: str, settings: Settings) -> Iterator[None]:
        """Run a guard for this process, which watches from the first heartbeat on. Only on Linux."""
        if not settings.watchdog_timeout or sys.platform != "linux":
            yield
            return
        memory, stacks = self._descriptors = create_memory(), os.memfd_create("stacks")
        self._memory = SharedMemory(memory)
        _install_signal_handlers(self._memory, stacks)
        self._command = (
            sys.executable,
            "-m",
            "shared.watchdog.guard",
            service,
            str(os.getpid()),
            *map(str, self._descriptors),
        )
        self._start_guard()
        try:
            yield
        finally:
            self.stop_beating()
            if self._guard:
                self._guard.kill()
                self._guard.wait()
            self._memory = None

    def beat(self) -> None:
        """Send a heartbeat. Call it from the event loop every BEAT_INTERVAL seconds."""
        if self._memory is None:
            return
        self._beats += 1
        self._memory.beat = self._beats
        if self._guard and self._guard.poll() is not None:
            log.warning("guard_ended", code=self._guard.returncode, hint="another one is started")
            try:
                self._start_guard()
            except OSError as error:
                log.error("guard_not_started", error=str(error), hint="this process is not watched; it is tried again")

    def stop_beating(self) -> None:
        """Stop watching: the event loop ends."""
        if self._memory:
            self._memory.beat = 0

    def add_delivery(self, reply: str) -> int:
        """Add a delivery by its acknowledgement subject. Returns its number for the other methods."""
        return self._memory.add(reply) if self._memory else NO_DELIVERY

    def mark_running(self, number: int) -> None:
        """Mark the delivery as running in this task and the tasks that it creates."""
        if self._memory:
            _running.set(number)
            self._memory.mark_running(number)

    def remove_delivery(self, number: int) -> None:
        """Remove a delivery that was answered."""
        if self._memory:
            self._memory.remove(number)

    def _start_guard(self) -> None:
        self._guard = subprocess.Popen(  # noqa: S603  the arguments are the program's own
            self._command, stdin=subprocess.DEVNULL, pass_fds=self._descriptors
        )


def _install_signal_handlers(memory: SharedMemory, stacks: int) -> None:
    """Install handlers that work whatever the process is doing.

    ASK_SIGNAL writes all threads' stacks to `stacks`, in C; then the Python handler names the running delivery. It runs
    during Python code, system calls and regular expressions. During other C code the delivery stays unknown.

    END_SIGNAL calls libc's `_exit`. The default action does not suffice: process 1 of a container ignores it.
    """

    def blame(_: int, __: FrameType | None) -> None:
        memory.blocking_delivery = _running.get()

    signal.signal(ASK_SIGNAL, blame)
    faulthandler.register(ASK_SIGNAL, file=stacks, chain=True)
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    libc.signal(END_SIGNAL, ctypes.cast(libc._exit, ctypes.c_void_p))


WATCHDOG = Watchdog()
