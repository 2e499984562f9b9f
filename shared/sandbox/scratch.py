"""The one folder of a run: made with the program's files, measured while it runs, removed whatever is in it."""

import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

from shared.sandbox.hidden import hidden

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_PRIVATE = 0o700
MOST_ENTRIES = 2_000


def check_names(names: Mapping[str, str]) -> None:
    """Raises ValueError for a name that is not a plain file name."""
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise ValueError(f"not a plain file name: {name!r} (letters, digits, '_', '-' and '.', not first a dot)")


@contextmanager
def folder(files: Mapping[str, str], *, owner: int) -> Iterator[Path]:
    """A new private folder that holds `files`, owned by user and group `owner` (0: by this process)."""
    place = Path(tempfile.mkdtemp(prefix="program-")).resolve()
    try:
        for name, text in files.items():
            (place / name).write_bytes(text.encode(errors="replace"))
        if owner:
            for path in (*place.iterdir(), place):
                os.chown(path, owner, owner)
        yield place
    finally:
        remove(place)


def exceeds(place: Path, *, most: int, pid: int) -> bool:
    """Whether the folder, and the files deleted in it that process `pid` still has, hold more than `most` bytes.

    Too many entries are too much as well, and so is a folder that cannot be looked into, closed or nested too deep.
    """
    used = hidden(place, pid=pid)
    entries = 0
    pending = [os.fspath(place)]
    while pending:
        try:
            with os.scandir(pending.pop()) as listing:
                found = list(islice(listing, MOST_ENTRIES + 1))
            used += sum(map(_size, found))
        except (FileNotFoundError, NotADirectoryError):
            continue  # it changes while we look
        except OSError:
            return True
        entries += len(found)
        if used > most or entries > MOST_ENTRIES:
            return True
        pending += [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
    return used > most


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
