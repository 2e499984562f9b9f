"""The service's side of its watchdog: it starts the guard, beats while its event loop turns, and can be asked."""

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
from shared.watchdog import ASK, END
from shared.watchdog.memory import NO_DELIVERY, Memory, create

log = structlog.get_logger("watchdog")
_running: ContextVar[int] = ContextVar("_running", default=NO_DELIVERY)  # the number of the delivery whose code runs


class Watchdog:
    """The one of this process; until it is started, nothing here does anything."""

    def __init__(self) -> None:
        self._memory: Memory | None = None
        self._command: tuple[str, ...] = ()
        self._descriptors: tuple[int, ...] = ()
        self._guard: subprocess.Popen[bytes] | None = None
        self._beats = 0

    @contextlib.contextmanager
    def started(self, service: str, settings: Settings) -> Iterator[None]:
        """A guard looks after this process, from its first heartbeat on. On Linux; elsewhere there is none."""
        if not settings.watchdog_timeout or sys.platform != "linux":
            yield
            return
        memory, stacks = self._descriptors = create(), os.memfd_create("stacks")
        self._memory = Memory(memory)
        _answer(self._memory, stacks)
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
            self.rest()
            if self._guard:
                self._guard.kill()
                self._guard.wait()
            self._memory = None

    def beat(self) -> None:
        """The event loop turns: to be called from it, every BEAT seconds."""
        if self._memory is None:
            return
        self._beats += 1
        self._memory.beat = self._beats
        if self._guard and self._guard.poll() is not None:
            log.warning("guard_ended", code=self._guard.returncode, hint="another one is started")
            try:
                self._start_guard()
            except OSError as error:
                log.error("guard_not_started", error=str(error), hint="nobody watches this process; it is tried again")

    def rest(self) -> None:
        """The event loop ends, and beats no more."""
        if self._memory:
            self._memory.beat = 0

    def take(self, reply: str) -> int:
        """A delivery is in hand, known by its acknowledgement subject; its number, for `begin` and `give_back`."""
        return self._memory.take(reply) if self._memory else NO_DELIVERY

    def begin(self, number: int) -> None:
        """The delivery's handler begins: from here on this task, and those that it creates, run in its name."""
        if self._memory:
            _running.set(number)
            self._memory.begin(number)

    def give_back(self, number: int) -> None:
        """The delivery is no longer in hand."""
        if self._memory:
            self._memory.give_back(number)

    def _start_guard(self) -> None:
        self._guard = subprocess.Popen(  # noqa: S603  this program's own parts
            self._command, stdin=subprocess.DEVNULL, pass_fds=self._descriptors
        )


def _answer(memory: Memory, stacks: int) -> None:
    """Answer the guard's signals, whatever the process is doing.

    ASK writes the stack of every thread to `stacks`, in C; then Python's handler names the delivery. It runs in Python
    code, in system calls and in regular expressions; where other C code runs, the delivery stays unknown.

    END is libc's `_exit` itself. The default action would not do: process 1 of a container ignores it.
    """

    def blame(_: int, __: FrameType | None) -> None:
        memory.blamed = _running.get()

    signal.signal(ASK, blame)
    faulthandler.register(ASK, file=stacks, chain=True)
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    libc.signal(END, ctypes.cast(libc._exit, ctypes.c_void_p))


WATCHDOG = Watchdog()
