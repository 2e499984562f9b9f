"""The program's identity: an unprivileged user without capabilities, and with a bounded number of threads."""

import _thread
import os
import resource

from . import kernel
from .errors import LayerRefused

_READ_ANY = 1 << 2  # CAP_DAC_READ_SEARCH


def _unreadable(paths: list[str]) -> list[str]:
    return [path for path in paths if not os.access(path, os.R_OK | os.X_OK)]


def drop(uid: int, *, needs: list[str]) -> None:
    """Change from root to `uid` (0: not root, nothing to change), and drop all capabilities.

    Another user cannot read an interpreter in a private folder, such as root's home. Then the capability to read stays;
    Landlock still confines it to the listed places, and it does not allow writing.

    needs: folders that the program must be able to read.
    """
    if uid:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except PermissionError as error:
            raise LayerRefused(
                "root without the right to change its user id: run it as an ordinary user instead"
            ) from error
        if {*os.getresuid(), *os.getresgid()} != {uid} or os.getgroups():
            raise LayerRefused("the change of the user id was accepted but does not hold")
    closed = _unreadable(needs)
    keeps = _READ_ANY if closed else 0
    try:
        kernel.set_capabilities(keeps)
    except PermissionError as error:
        raise LayerRefused(
            f"an ordinary user cannot read {closed[0]}: use a Python that everybody can read"
            if closed
            else f"capabilities cannot be given up ({error.strerror})"
        ) from error
    if kernel.capabilities() != keeps:
        raise LayerRefused("the loss of capabilities was accepted but does not hold")


def limit(what: int, soft: int, hard: int) -> None:
    resource.setrlimit(what, (soft, hard))
    if resource.getrlimit(what) != (soft, hard):
        raise LayerRefused("a limit was accepted but does not hold")


def _can_start_thread() -> bool:
    done = _thread.allocate_lock()
    done.acquire()
    try:
        _thread.start_new_thread(done.release, ())
    except RuntimeError:
        return False
    return done.acquire()


def bound_threads(threads: int) -> None:
    """Allow `threads` more threads, and at most as many again as this user has now.

    The kernel counts threads per user and does not report the count, so this doubles the bound until a thread starts.
    """
    _, maximum = resource.getrlimit(resource.RLIMIT_NPROC)
    bound = 2
    while True:
        room = bound if maximum == resource.RLIM_INFINITY else min(bound, maximum)
        resource.setrlimit(resource.RLIMIT_NPROC, (room, maximum))
        if _can_start_thread():
            break
        if room != bound:
            raise LayerRefused("this user may not start any more threads")
        bound *= 2
    final = room + threads - 1 if maximum == resource.RLIM_INFINITY else min(room + threads - 1, maximum)
    limit(resource.RLIMIT_NPROC, final, final)
