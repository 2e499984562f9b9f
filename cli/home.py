"""PARLEY_HOME: who holds it, the secrets kept in it, and where the `parley up` that runs on it can be found."""

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
# What Parley keeps in its home: the files beside the databases are SQLite's.
_ENTRIES = ("lock", "running.json", "secrets", "nats", "logs", "parley.db*", "retail.db*")


class HomeUnusable(Exception):
    """Another process holds this home, or it cannot be written; the message says what to do."""


class Running(BaseModel):
    """What a running `parley up` leaves in its home for the other commands; it holds the login token."""

    model_config = ConfigDict(frozen=True)

    pid: int
    page: str  # with the login token, where one is needed
    nats_url: str  # as the operator, with the password


@contextlib.contextmanager
def hold(home: Path) -> Iterator[None]:
    """Hold `home` for this process alone; the kernel lets go of it however the process ends.

    Raises HomeUnusable: it names the process that has it, or why the folder cannot be made, written or kept private.
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
    """Take from other accounts what earlier versions, or a lax umask, let them read of this home.

    The folder itself is closed where it is ours and holds nothing else; in one that is shared with other things, all
    that Parley keeps is. Raises HomeUnusable where every account may write: there they could replace what is kept.
    """
    status = home.stat()
    entries = list(home.iterdir())
    ours = [entry for entry in entries if any(entry.match(pattern) for pattern in _ENTRIES)]
    if len(ours) == len(entries) and status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        home.chmod(_PRIVATE)
    elif status.st_mode & stat.S_IWOTH:
        raise HomeUnusable(f"{home} is open to every account: set PARLEY_HOME to a folder of its own, as {home}/parley")
    for entry in ours:
        if _close(entry):  # what lies in a closed folder is out of reach, and may be very much
            for folder, folders, files in os.walk(entry):
                for name in (*folders, *files):
                    _close(Path(folder, name))


def _close(path: Path) -> bool:
    """Neither group nor others may do anything with it; whether they could. A link, or what has gone, is left alone."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
            return True
    return False


def secret(home: Path, name: str) -> str:
    """The secret `name` of this home: 43 URL-safe characters, made once, readable by its owner only."""
    folder = home / "secrets"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / name
    if not path.exists():
        fresh = path.with_suffix(f".{os.getpid()}")
        file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w") as stream:
            stream.write(secrets.token_urlsafe(32))
        # A link is made only where there is none: of two processes that race, both read the first one's secret.
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text().strip()


@contextlib.contextmanager
def announce(home: Path, running: Running) -> Iterator[None]:
    """Let the other commands find this `up` while it runs."""
    path = home / "running.json"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
        stream.write(running.model_dump_json())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def running(home: Path) -> Running | None:
    """The `parley up` that runs on this home, or None. One that was killed leaves its file but not its lock."""
    try:
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        pass
    except OSError:
        return None
    try:
        return Running.model_validate_json((home / "running.json").read_text())
    except (OSError, ValidationError):
        return None


def attached(settings: Settings) -> Settings:
    """The settings that reach the bus of the `parley up` that runs on this home, if one does; NATS_URL wins."""
    if "nats_url" in settings.model_fields_set or not (found := running(settings.parley_home)):
        return settings
    return settings.model_copy(update={"nats_url": found.nats_url})
