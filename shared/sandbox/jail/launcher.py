"""Isolates this process, reports to the supervisor, and becomes the program.

It fails closed: any layer that cannot be applied ends the process before a line of the program is read.
"""

import os
import resource
import signal
import sys

from . import kernel, program, seccomp
from .errors import LayerRefused
from .identity import bound_threads, drop, limit
from .landlock import Ruleset
from .launch_options import LaunchOptions

READY = b"ready"
_MAX_DESCRIPTORS = 64


def main() -> None:
    options = LaunchOptions.from_arguments(sys.argv[1:])
    try:
        _isolate(options)
        program.prepare(options.scratch)
        os.write(options.status, READY)
        os.close(options.status)
    except Exception as error:
        os.write(options.status, f"{error or type(error).__name__}".encode())
        os._exit(1)
    program.run(options.program, scratch=options.scratch)


def _isolate(options: LaunchOptions) -> None:
    machine = os.uname().machine
    if machine not in seccomp.ARCHITECTURES or sys.maxsize < 1 << 32:
        raise LayerRefused(f"no system call table for this machine ({machine}, or a 32-bit Python)")
    os.closerange(3, options.status)
    os.closerange(options.status + 1, 1 << 20)
    os.umask(0o077)
    os.chdir(options.scratch)
    ruleset = Ruleset(options.scratch)
    drop(options.uid, needs=[os.path.dirname(os.__file__), options.scratch])  # noqa: PTH120 - pathlib costs 10 ms
    _limit(options)
    bound_threads(options.threads)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of user, which clears it
    if not kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) or kernel.parent_death_signal() != signal.SIGKILL:
        raise LayerRefused("prctl was accepted but does not hold")
    if os.getppid() != options.parent:
        raise LayerRefused("the process that asked for this run is gone")
    ruleset.enforce()
    seccomp.enforce(machine, pid=os.getpid())
    _verify_isolation()


def _limit(options: LaunchOptions) -> None:
    limits = {
        resource.RLIMIT_AS: (options.memory, options.memory),
        resource.RLIMIT_CPU: (options.cpu, options.cpu + 1),  # SIGXCPU first, SIGKILL for a program that ignores it
        resource.RLIMIT_FSIZE: (options.file, options.file),
        resource.RLIMIT_NOFILE: (_MAX_DESCRIPTORS, _MAX_DESCRIPTORS),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
    }
    for resource_id, values in limits.items():
        _, maximum = resource.getrlimit(resource_id)
        strictest = [value if maximum == resource.RLIM_INFINITY else min(value, maximum) for value in values]
        limit(resource_id, strictest[0], strictest[1])


def _verify_isolation() -> None:
    """Check that what must now be impossible is."""
    try:
        os.listdir("/")  # noqa: PTH208 - pathlib costs 10 ms at every start
    except PermissionError:
        pass
    else:
        raise LayerRefused("Landlock was accepted but does not hold")
    try:
        child = os.fork()
    except PermissionError:
        return
    if child == 0:
        os._exit(0)
    raise LayerRefused("the system call filter was accepted but does not hold")
