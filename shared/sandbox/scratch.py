"""The folder of a run: created with the program's files, measured during the run, removed after it."""

import fcntl
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from time import sleep
from typing import NamedTuple

_MAPS = 1024 * 1024  # bytes of text: some ten thousand mappings
_TRIES = 100  # more than there are threads, whose ends interrupt a measurement
_DEAD = b"ZXx"
PREFIX, SUFFIX = "program-", "-parley"
USERS = range(60_800, 61_056)  # of programs that root starts; no distribution uses them
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_PRIVATE = 0o700
MAX_ENTRIES = 2_000
DATA = "files"
_ATTEMPTS, _PAUSE = (
    20,
    0.005,
)  # the pause in seconds; a program that removes its folders ends within these


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


def check_names(names: Mapping[str, str]) -> None:
    """Raise ValueError for a name that is not a plain file name."""
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise ValueError(f"not a plain file name: {name!r} (letters, digits, '_', '-' and '.', not first a dot)")


def check_data(data: Mapping[str, bytes]) -> None:
    """Raise ValueError for a name that leads out of the folder `files`."""
    for name in data:
        if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
            raise ValueError(f"not a file's name: {name!r}")


@contextmanager
def folder(files: Mapping[str, str], *, owner: int, data: Mapping[str, bytes] | None = None) -> Iterator[Path]:
    """A new private folder with `files`, and with `data` in its folder `files`.

    User and group `owner` own it (0: this process does).
    """
    place = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX)).resolve()
    lock = os.open(place, os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # it ends with this process, however that ends
        for name, text in files.items():
            (place / name).write_bytes(text.encode(errors="replace"))
        for name, content in (data or {}).items():
            path = place / DATA / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if owner:
            for path in (*place.rglob("*"), place):
                os.chown(path, owner, owner)
        yield place
    finally:
        remove(place)
        os.close(lock)


def remove_abandoned() -> int:
    """Remove the folders of runs whose process was killed, and return how many there were."""
    removed = 0
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*{SUFFIX}"):
        try:
            lock = os.open(place, os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue  # gone, or of another user
        try:
            if os.fstat(lock).st_uid in (os.geteuid(), *USERS) and _is_abandoned(lock):
                remove(place)
                removed += 1
        except OSError:
            continue  # the next start tries again
        finally:
            os.close(lock)
    return removed


def _is_abandoned(lock: int) -> bool:
    """Whether no process holds this folder. One without files was made just now, and is not locked yet."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return bool(os.listdir(lock))


def exceeds(place: Path, *, limit: int, pid: int) -> bool:
    """Whether the folder, with deleted files that process `pid` still holds, contains more than `most` bytes.

    Too many entries also count as too much, and so does a folder that cannot be read: unreadable, nested too deep, or
    renamed each time before it is opened. Blocks for up to a fifth of a second.
    """
    used = hidden_bytes(place, pid=pid)
    for _ in range(_ATTEMPTS):
        usage = _measure(place, limit=limit - used)
        if usage.complete or usage.too_much:
            return usage.too_much
        sleep(_PAUSE)
    return True


class _DiskUsage(NamedTuple):
    too_much: bool
    complete: bool  # False: a folder was removed or renamed before it was opened


def _measure(place: Path, *, limit: float) -> _DiskUsage:
    """Measure the folder's visible content once."""
    used = entries = 0
    complete = True
    top = os.fspath(place)
    pending = [top]
    while pending:
        path = pending.pop()
        try:
            with os.scandir(path) as listing:
                listed = list(islice(listing, MAX_ENTRIES + 1))
            used += sum(map(_size, listed))
        except (FileNotFoundError, NotADirectoryError):
            complete &= path == top  # the program cannot rename the top folder, so it was removed
            continue
        except OSError:
            return _DiskUsage(too_much=True, complete=False)
        entries += len(listed)
        if used > limit or entries > MAX_ENTRIES:
            return _DiskUsage(too_much=True, complete=complete)
        pending += [entry.path for entry in listed if entry.is_dir(follow_symlinks=False)]
    return _DiskUsage(too_much=used > limit, complete=complete)


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0


def remove(place: Path) -> None:
    """Remove the folder, however deep its content is nested and whatever modes its folders have.

    This moves the content of subfolders up instead of descending, so that the program controls neither the recursion
    nor the length of paths. No process may use the folder any more.
    """
    place.chmod(_PRIVATE)
    fresh = count()
    while entries := list(place.iterdir()):
        for entry in entries:
            if not stat.S_ISDIR(entry.lstat().st_mode):
                entry.unlink()
                continue
            entry.chmod(_PRIVATE)
            for child in entry.iterdir():
                child.rename(_unused(place, fresh))
            entry.rmdir()
    place.rmdir()


def _unused(place: Path, fresh: "count[int]") -> Path:
    return next(path for number in fresh if not os.path.lexists(path := place / f"moved-{number}"))
