"""Command lines of child processes that cannot outlive their parent."""

import os
import sys

# The child asks the kernel to be killed with its parent (PR_SET_PDEATHSIG), then executes the program. A preexec_fn
# would be unsafe in a process with threads. SIGKILL, because an orphaned child has nowhere to drain to: the broker ends
# too, and the log keeps what was not acknowledged. The parent may die before this call: then the parent id has changed,
# and the child exits.
_BIND_TO_PARENT = """
import ctypes, os, signal, sys
parent, program = int(sys.argv[1]), sys.argv[2:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    sys.exit("the process that started this one has ended")
os.execvp(program[0], program)
"""


def bound_to_parent(*program: str) -> tuple[str, ...]:
    """A command line for `program` as a child that the kernel kills when this process ends, however it ends.

    This works on Linux only. The kernel watches the thread that starts the child, so start it from a thread that lives
    as long as the child should.
    """
    return (sys.executable, "-I", "-S", "-c", _BIND_TO_PARENT, str(os.getpid()), *program)
