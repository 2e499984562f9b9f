"""Command lines of children that cannot outlive the process that started them."""

import os
import sys

# The child asks the kernel for its own end (PR_SET_PDEATHSIG), then becomes the program: done here and not in a
# preexec_fn, which is unsafe in a process with threads. SIGKILL, because a child that is left alone has nothing to
# drain to: the broker ends with it, and the log keeps what was not acknowledged.
# The parent may have died before the request: then its number is no longer ours, and the child ends itself.
_TIE = """
import ctypes, os, signal, sys
parent, program = int(sys.argv[1]), sys.argv[2:]
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    sys.exit("the process that started this one has ended")
os.execvp(program[0], program)
"""


def tied(*program: str) -> tuple[str, ...]:
    """`program` as a child of this process that the kernel kills when this process ends, however it ends.

    On Linux; elsewhere it runs untied. The kernel watches the thread that starts the child: start it from one that
    lives as long as the child should.
    """
    return (sys.executable, "-I", "-S", "-c", _TIE, str(os.getpid()), *program)
