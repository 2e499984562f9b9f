"""PARLEY_HOME: its lock, its secrets, and the record of the `parley up` that runs on it."""

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from shared.settings import Settings

_PRIVATE = 0o700
_OTHERS = 0o077
# Parley's files in its home; the patterns include SQLite's files beside the databases.
_ENTRIES = ("lock", "running.json", "secrets", "nats", "logs", "parley.db*", "retail.db*")


class HomeUnusable(Exception):
    """Another process uses this home, or it is not writable or private; the message says what to do."""


class RunningParley(BaseModel):
    """The record that `parley up` writes for other commands. It contains the login token."""

    model_config = ConfigDict(frozen=True)

    pid: int
    page: str  # with the login token, if one is needed
    nats_url: str  # of the operator, with the password


@contextlib.contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Lock `home` for this process. The kernel releases the lock however the process ends.

    Raises HomeUnusable, which names the process that has the lock, or why the folder cannot be used.
    """
    try:
        home.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        make_private(home)
        file = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeUnusable(
            f"{home} cannot be used ({error.strerror}): set PARLEY_HOME to a folder to write in"
        ) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(file, 20, 0).decode() or "unknown"
            advice = "stop it, or give this one another PARLEY_HOME (and AGENT_PORT)"
            raise HomeUnusable(f"{home} is in use by process {pid}: {advice}") from None
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(file)


def make_private(home: Path) -> None:
    """Remove access that other accounts may have to this home, from earlier versions or a lax umask.

    Closes the folder itself if it is this account's and contains nothing else, otherwise each of Parley's entries.
    Raises HomeUnusable if every account may write to the folder, because they could then replace files.
    """
    status = home.stat()
    entries = list(home.iterdir())
    own_entries = [entry for entry in entries if any(entry.match(pattern) for pattern in _ENTRIES)]
    if len(own_entries) == len(entries) and status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        home.chmod(_PRIVATE)
    elif status.st_mode & stat.S_IWOTH:
        raise HomeUnusable(f"{home} is open to every account: set PARLEY_HOME to a folder of its own, as {home}/parley")
    for entry in own_entries:
        if _make_entry_private(entry):  # files in a folder that was closed already are out of reach, and may be many
            for folder, folders, files in os.walk(entry):
                for name in (*folders, *files):
                    _make_entry_private(Path(folder, name))


def _make_entry_private(path: Path) -> bool:
    """Remove the rights of group and others; return whether they had any. Skips links and missing files."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
            return True
    return False


def secret(home: Path, name: str) -> str:
    """The secret `name` of this home: 43 URL-safe characters, created once, readable only by its owner."""
    folder = home / "secrets"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / name
    if not path.exists():
        temporary = path.with_suffix(f".{os.getpid()}")
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w") as stream:
            stream.write(secrets.token_urlsafe(32))
        # link() fails if the file exists, so of two racing processes both read the first one's secret.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
        temporary.unlink()
    return path.read_text(encoding="utf-8-sig").strip()


@contextlib.contextmanager
def announce(home: Path, running: RunningParley) -> Iterator[None]:
    """Let other commands find this `parley up` while it runs."""
    path = home / "running.json"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(running.model_dump_json())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find_running(home: Path) -> RunningParley | None:
    """The `parley up` that runs on this home, or None. One that was killed leaves its file, but not its lock."""
    try:
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        pass
    except OSError:
        return None
    try:
        return RunningParley.model_validate_json((home / "running.json").read_text())
    except (OSError, ValidationError):
        return None


def use_running_nats(settings: Settings) -> Settings:
    """The settings with the NATS URL of the `parley up` running on this home, unless NATS_URL is set."""
    if "nats_url" in settings.model_fields_set or not (running_parley := find_running(settings.parley_home)):
        return settings
    return settings.model_copy(update={"nats_url": running_parley.nats_url})
