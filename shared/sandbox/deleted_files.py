"""Measures disk space of deleted files that a program still holds open or mapped."""

import math
import os
import stat
from contextlib import suppress
from pathlib import Path

_MAPS = 1024 * 1024  # bytes of text: some ten thousand mappings
_TRIES = 100  # more than there are threads, whose ends interrupt a measurement
_DEAD = b"ZXx"


def hidden_bytes(place: Path, *, pid: int) -> float:
    """Bytes; infinite if a deleted file of the folder is mapped but not open, because then its size is unknown.

    Python's own mappings keep a descriptor open, so honest programs have no such file. Root needs CAP_SYS_PTRACE to
    inspect a process of another user; without it the result is 0.

    The kernel shows nothing of a main thread that has ended, so this reads a thread that is alive before and after the
    measurement. A program whose threads end too fast for that counts as hiding files.
    """
    for _ in range(_TRIES):
        thread = next((path for path in _threads(pid) if _is_alive(path)), None)
        if thread is None:
            return 0  # the process is ending
        # Twice: a file may be deleted or closed during a measurement.
        size = math.inf if all(_only_mapped(place, thread) for _ in range(2)) else sum(_deleted_files(thread).values())
        if _is_alive(thread):
            return size
    return math.inf


def _threads(pid: int) -> list[str]:
    """The main thread if it is alive, which is the usual case, or all threads."""
    main = f"/proc/{pid}/task/{pid}"
    if _is_alive(main):
        return [main]
    with suppress(OSError):
        return [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - often
    return []


def _is_alive(thread: str) -> bool:
    with suppress(OSError), open(f"{thread}/stat", "rb") as status:  # noqa: PTH123 - 40 times a second
        return status.read().rpartition(b") ")[2][:1] not in _DEAD
    return False


def _deleted_files(thread: str) -> dict[int, int]:
    """Bytes by inode of deleted files with an open descriptor. All threads share their descriptors."""
    sizes = {}
    with suppress(OSError), os.scandir(f"{thread}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                status = descriptor.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    sizes[status.st_ino] = status.st_blocks * 512
    return sizes


def _only_mapped(place: Path, thread: str) -> bool:
    """Whether a deleted file is mapped but not open. Too many mappings to read count as one."""
    known = _deleted_files(thread).keys()
    inside = os.fsencode(place) + b"/"
    with suppress(OSError), open(f"{thread}/maps", "rb") as maps:  # noqa: PTH123 - 40 times a second
        text = maps.read(_MAPS)
        deleted = [line.split(None, 5) for line in text.splitlines() if line.endswith(b" (deleted)")]
        inodes = {int(inode) for *_, inode, path in deleted if path.startswith(inside)}
        return len(text) == _MAPS or not inodes <= known
    return False
