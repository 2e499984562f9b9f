"""What an attack on the sandbox is, and what every attacking program starts with."""

from textwrap import dedent
from typing import NamedTuple

COMMON = """
import ctypes, errno, json, os, signal, socket, struct, sys, threading, time
world = json.load(open("world.json"))
arm = os.uname().machine == "aarch64"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def attempt(action, *args):
    "Every way is tried, whatever the others bring."
    try:
        return action(*args)
    except Exception as error:
        print("refused:", type(error).__name__, error, file=sys.stderr)

def call(x86, arm64, *args):
    "A bare system call."
    wide = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = libc.syscall(ctypes.c_long(arm64 if arm else x86), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def show(path):
    print(open(path, "rb").read())
"""


class Attack(NamedTuple):
    """A program that tries one kind of thing in all the ways it has.

    ends: how the sandbox ends it. A program that is not greedy has to come to its own end, so that its attempts were
    made and not stopped by an accident.
    wall: seconds for it. root: only root can do this harm, so without the sandbox too an ordinary user does none.
    looks: to stop it, the supervisor must look into the process, for which root needs CAP_SYS_PTRACE.
    """

    program: str
    ends: tuple[str, ...] = ("exited",)
    wall: float = 20  # much more than any needs: a busy machine is no defence
    root: bool = False
    looks: bool = False

    def files(self, world: str) -> dict[str, str]:
        return {"program.py": dedent(COMMON) + dedent(self.program), "world.json": world}
