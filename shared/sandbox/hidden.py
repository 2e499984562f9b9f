"""What a program keeps on the disk that its folder does not show: files that are deleted, but open or mapped."""

import math
import os
import stat
from contextlib import suppress
from pathlib import Path

_MAPS = 1024 * 1024  # bytes of text: some ten thousand mappings


def hidden(place: Path, *, pid: int) -> float:
    """Bytes; infinite if a file deleted in the folder is mapped and not open, because nobody is told its size.

    Python's own mappings keep a descriptor of theirs, so honest programs have no such file. Root needs CAP_SYS_PTRACE
    to look into a process of another user; without it nothing is seen.
    """
    if all(_only_mapped(place, pid) for _ in range(2)):  # twice: it may have been made or closed while we looked
        return math.inf
    return sum(_deleted(pid).values())


def _deleted(pid: int) -> dict[int, int]:
    """The deleted files that an open descriptor keeps alive: bytes by inode."""
    found = {}
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for descriptor in descriptors:
            with suppress(OSError):
                status = descriptor.stat()
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    found[status.st_ino] = status.st_blocks * 512
    return found


def _only_mapped(place: Path, pid: int) -> bool:
    """Whether a mapping alone keeps a file alive. Too many mappings to look at count as hiding one."""
    known = _deleted(pid).keys()
    inside = os.fsencode(place) + b"/"
    with suppress(OSError), open(f"/proc/{pid}/maps", "rb") as maps:  # noqa: PTH123 - 40 times a second
        text = maps.read(_MAPS)
        deleted = [line.split(None, 5) for line in text.splitlines() if line.endswith(b" (deleted)")]
        inodes = {int(inode) for *_, inode, path in deleted if path.startswith(inside)}
        return len(text) == _MAPS or not inodes <= known
    return False
