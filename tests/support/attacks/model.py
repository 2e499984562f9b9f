"""An attack on the sandbox, and the code with which each attacking program begins."""

from textwrap import dedent
from typing import NamedTuple

COMMON = """
import ctypes, errno, json, os, signal, socket, struct, sys, threading, time
world = json.load(open("world.json"))
arm = os.uname().machine == "aarch64"
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def attempt(action, *args):
    "Try one way; a failure does not end the program."
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
    """A program that tries one kind of harm in several ways.

    ends: how it may end in the sandbox. Unless it exceeds a limit, it must end by itself: only then has it made all its
    attempts.
    wall: its time limit in seconds.
    root: only root can do this harm, so an ordinary user does none, even without the sandbox.
    looks: to stop it, the supervisor must inspect the process, for which root needs CAP_SYS_PTRACE.
    """

    program: str
    ends: tuple[str, ...] = ("exited",)
    wall: float = 20  # far more than needed, so that a busy machine stops no attack
    root: bool = False
    looks: bool = False

    def files(self, world: str) -> dict[str, str]:
        return {"program.py": dedent(COMMON) + dedent(self.program), "world.json": world}
