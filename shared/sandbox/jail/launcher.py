"""Closes the jail around this process, says so to the supervisor, and becomes the program.

It fails closed: any layer that cannot be applied ends the process before a line of the program is read.
"""

import os
import resource
import signal
import sys

from . import kernel, program, seccomp
from .errors import Refused
from .identity import bound_threads, drop, limit
from .landlock import Ruleset
from .order import Order

READY = b"ready"
_MOST_DESCRIPTORS = 64


def main() -> None:
    order = Order.from_arguments(sys.argv[1:])
    try:
        _close_in(order)
        program.prepare(order.scratch)
        os.write(order.status, READY)
        os.close(order.status)
    except Exception as error:
        os.write(order.status, f"{error or type(error).__name__}".encode())
        os._exit(1)
    program.run(order.program, scratch=order.scratch)


def _close_in(order: Order) -> None:
    machine = os.uname().machine
    if machine not in seccomp.ARCHITECTURES or sys.maxsize < 1 << 32:
        raise Refused(f"no system call table for this machine ({machine}, or a 32-bit Python)")
    os.closerange(3, order.status)
    os.closerange(order.status + 1, 1 << 20)
    os.umask(0o077)
    os.chdir(order.scratch)
    ruleset = Ruleset(order.scratch)
    drop(order.uid, needs=[os.path.dirname(os.__file__), order.scratch])  # noqa: PTH120 - pathlib costs 10 ms
    _limit(order)
    bound_threads(order.threads)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which clears it
    if not kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) or kernel.parent_death_signal() != signal.SIGKILL:
        raise Refused("prctl was accepted but does not hold")
    if os.getppid() != order.parent:
        raise Refused("the process that asked for this run is gone")
    ruleset.enforce()
    seccomp.enforce(machine, pid=os.getpid())
    _prove()


def _limit(order: Order) -> None:
    limits = {
        resource.RLIMIT_AS: (order.memory, order.memory),
        resource.RLIMIT_CPU: (order.cpu, order.cpu + 1),  # SIGXCPU first, SIGKILL for a program that ignores it
        resource.RLIMIT_FSIZE: (order.file, order.file),
        resource.RLIMIT_NOFILE: (_MOST_DESCRIPTORS, _MOST_DESCRIPTORS),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
    }
    for what, wanted in limits.items():
        _, most = resource.getrlimit(what)
        strictest = [value if most == resource.RLIM_INFINITY else min(value, most) for value in wanted]
        limit(what, strictest[0], strictest[1])


def _prove() -> None:
    """Tries what must now be impossible."""
    try:
        os.listdir("/")  # noqa: PTH208 - pathlib costs 10 ms at every start
    except PermissionError:
        pass
    else:
        raise Refused("Landlock was accepted but does not hold")
    try:
        child = os.fork()
    except PermissionError:
        return
    if child == 0:
        os._exit(0)
    raise Refused("the system call filter was accepted but does not hold")
