"""The one folder of a run: made with the program's files, measured while it runs, removed whatever is in it."""

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

from shared.sandbox.hidden import hidden

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_PRIVATE = 0o700
MOST_ENTRIES = 2_000
DATA = "files"
_LOOKS, _PAUSE = 20, 0.005  # seconds: a program that removes its folders has done so within these looks


def check_names(names: Mapping[str, str]) -> None:
    """Raises ValueError for a name that is not a plain file name."""
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise ValueError(f"not a plain file name: {name!r} (letters, digits, '_', '-' and '.', not first a dot)")


def check_data(data: Mapping[str, bytes]) -> None:
    """Raises ValueError for a name that leads out of the folder `files`."""
    for name in data:
        if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
            raise ValueError(f"not a file's name: {name!r}")


@contextmanager
def folder(files: Mapping[str, str], *, owner: int, data: Mapping[str, bytes] | None = None) -> Iterator[Path]:
    """A new private folder that holds `files`, and `data` below its folder `files`.

    It is owned by user and group `owner` (0: by this process).
    """
    place = Path(tempfile.mkdtemp(prefix="program-")).resolve()
    try:
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


def exceeds(place: Path, *, most: int, pid: int) -> bool:
    """Whether the folder, and the files deleted in it that process `pid` still has, hold more than `most` bytes.

    Too many entries are too much as well, and so is a folder that cannot be looked into: closed, nested too deep, or
    renamed each time before it is opened. Blocks for up to a fifth of a second.
    """
    used = hidden(place, pid=pid)
    for _ in range(_LOOKS):
        seen = _seen(place, most=most - used)
        if seen.complete or seen.too_much:
            return seen.too_much
        sleep(_PAUSE)
    return True


class _Seen(NamedTuple):
    too_much: bool
    complete: bool  # False: a folder was gone, or had another name, when it was to be opened


def _seen(place: Path, *, most: float) -> _Seen:
    """One look at all that the folder shows."""
    used = entries = 0
    complete = True
    top = os.fspath(place)
    pending = [top]
    while pending:
        path = pending.pop()
        try:
            with os.scandir(path) as listing:
                found = list(islice(listing, MOST_ENTRIES + 1))
            used += sum(map(_size, found))
        except (FileNotFoundError, NotADirectoryError):
            complete &= path == top  # which no program can rename: it is gone with all that was in it
            continue
        except OSError:
            return _Seen(too_much=True, complete=False)
        entries += len(found)
        if used > most or entries > MOST_ENTRIES:
            return _Seen(too_much=True, complete=complete)
        pending += [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    return _Seen(too_much=used > most, complete=complete)


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0


def remove(place: Path) -> None:
    """Removes the folder, however deep its content is nested and whatever modes its folders have.

    Folders are not descended into: their content is moved up instead, so that neither recursion nor the length of a
    path is in the program's hands. Nothing may run in the folder any more.
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
