"""The folder of a run: created with the program's files, measured during the run, removed after it."""

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from time import sleep
from typing import NamedTuple

from shared.sandbox.deleted_files import hidden_bytes

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
