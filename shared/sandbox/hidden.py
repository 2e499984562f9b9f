"""What a program keeps on the disk that its folder does not show: files that are deleted, but open or mapped."""

import math
import os
import stat
from contextlib import suppress
from pathlib import Path

_MAPS = 1024 * 1024  # bytes of text: some ten thousand mappings
_TRIES = 100  # more than there are threads, whose ends spoil a look
_DEAD = b"ZXx"


def hidden(place: Path, *, pid: int) -> float:
    """Bytes; infinite if a file deleted in the folder is mapped and not open, because nobody is told its size.

    Python's own mappings keep a descriptor of theirs, so honest programs have no such file. Root needs CAP_SYS_PTRACE
    to look into a process of another user; without it nothing is seen.

    The kernel shows nothing of a main thread that has ended, so the look goes through a thread that lives before it
    and after it. A program whose threads end faster than that hides something.
    """
    for _ in range(_TRIES):
        thread = next((path for path in _threads(pid) if _lives(path)), None)
        if thread is None:
            return 0  # all of it is ending
        # Twice: a file may have been deleted or closed while we looked.
        size = math.inf if all(_only_mapped(place, thread) for _ in range(2)) else sum(_deleted(thread).values())
        if _lives(thread):
            return size
    return math.inf


def _threads(pid: int) -> list[str]:
    """The main thread first; the others only if it is not enough, since most looks end with it."""
    main = f"/proc/{pid}/task/{pid}"
    if _lives(main):
        return [main]
    with suppress(OSError):
        return [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - often
    return []


def _lives(thread: str) -> bool:
    with suppress(OSError), open(f"{thread}/stat", "rb") as status:  # noqa: PTH123 - 40 times a second
        return status.read().rpartition(b") ")[2][:1] not in _DEAD
    return False


def _deleted(thread: str) -> dict[int, int]:
    """The deleted files that an open descriptor keeps alive: bytes by inode. All threads share their descriptors."""
    found = {}
    with suppress(OSError), os.scandir(f"{thread}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                status = descriptor.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    found[status.st_ino] = status.st_blocks * 512
    return found


def _only_mapped(place: Path, thread: str) -> bool:
    """Whether a mapping alone keeps a file alive. Too many mappings to look at count as hiding one."""
    known = _deleted(thread).keys()
    inside = os.fsencode(place) + b"/"
    with suppress(OSError), open(f"{thread}/maps", "rb") as maps:  # noqa: PTH123 - 40 times a second
        text = maps.read(_MAPS)
        deleted = [line.split(None, 5) for line in text.splitlines() if line.endswith(b" (deleted)")]
        inodes = {int(inode) for *_, inode, path in deleted if path.startswith(inside)}
        return len(text) == _MAPS or not inodes <= known
    return False
