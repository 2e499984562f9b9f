"""`parley secrets`: the passwords of the containers, made once, and each given to the containers that need it.

In PARLEY_HOME (a volume) there are then `secrets/`, which only this command reads, and a folder for each container with
files named like settings, or like what its image asks for. The folder belongs to the group of the container's name, and
whoever runs this is in all those groups: that is all it needs, no root.
"""

import os
import sys
from collections.abc import Callable, Mapping
from grp import getgrnam
from pathlib import Path
from urllib.parse import quote

from cli.entitlements import SECRETS_OF
from cli.home import secret
from shared.settings import Settings

OWN = sorted({name for names in SECRETS_OF.values() for name in names} | {"postgres", "reader"})
_FOLDER, _FILE = 0o750, 0o640


class NoSuchSecret(Exception):
    """The message names those there are."""


class NotInContainers(Exception):
    """There are no groups of containers here: `parley up` needs nothing of this."""


def _group(name: str) -> int:
    try:
        return getgrnam(name).gr_gid
    except KeyError as error:
        raise NotInContainers(
            f"there is no group {name} here. This is for containers, where `docker compose up` runs it;\n"
            "`parley up` makes its passwords by itself."
        ) from error


def share(settings: Settings, *, replace: str = "", group: Callable[[str], int] = _group) -> None:
    """Make what is missing and give out everything; first take `replace` from stdin.

    Raises NoSuchSecret; NotInContainers before anything is written.
    """
    groups = {name: group(name) for name in (*SECRETS_OF, "postgres", "nats")}  # before anything is written
    home = settings.parley_home
    secret(home, "postgres")  # the folder is there, and private
    if replace:
        _replace(home / "secrets", replace)
    for container, names in SECRETS_OF.items():
        values = {name: _value(home, container, name) for name in names}
        _give(home / container, groups[container], {name: text for name, text in values.items() if text})
    _give(home / "postgres", groups["postgres"], {name: secret(home, name) for name in ("postgres", "reader")})
    exported = "".join(_exported(user, _password(home, user)) for user in SECRETS_OF)
    _give(home / "nats", groups["nats"], {"passwords": exported})


def _replace(folder: Path, name: str) -> None:
    """Nothing on stdin means to forget it: then it is made again, or is not set."""
    if name not in OWN:
        raise NoSuchSecret(f"there is no secret {name}; those there are: {', '.join(OWN)}")
    text = sys.stdin.read().strip()
    (folder / name).unlink(missing_ok=True)
    if text:
        _write(folder / name, text, mode=0o600)


def _value(home: Path, container: str, name: str) -> str:
    """What an operator gave, else what fits the other containers of docker-compose.yml; "" where there is neither."""

    def quoted(name: str) -> str:
        return quote(secret(home, name), safe="")

    made: Mapping[str, Callable[[], str]] = {
        "nats_url": lambda: f"nats://{container}:{_password(home, container)}@nats:4222",
        "database_url": lambda: f"postgresql://parley:{quoted('postgres')}@postgres:5432/parley",
        "parley_sql_database_url": lambda: f"postgresql://reader:{quoted('reader')}@postgres:5432/parley",
        "parley_token": lambda: secret(home, "parley_token"),
        "parley_secret": lambda: secret(home, "parley_secret"),
    }
    own = home / "secrets" / name
    return own.read_text().strip() if own.exists() else made.get(name, str)()


def _password(home: Path, user: str) -> str:
    return secret(home, f"nats-{user}")


def _exported(user: str, password: str) -> str:
    """A line for a shell. The value has quotes in it: nats-server reads it as a piece of its configuration."""
    return f"""NATS_PASSWORD_{user.upper()}='"{password}"'\n"""


def _give(folder: Path, group: int, files: Mapping[str, str]) -> None:
    """The folder holds these files and no others, for this group. Each is whole at every moment."""
    folder.mkdir(exist_ok=True)
    os.chown(folder, -1, group)
    folder.chmod(_FOLDER)
    for name, text in files.items():
        _write(folder / name, text, mode=_FILE, group=group)
    for stale in {path.name for path in folder.iterdir()} - files.keys():
        (folder / stale).unlink()


def _write(path: Path, text: str, *, mode: int, group: int = -1) -> None:
    fresh = path.with_name(f".{path.name}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)
    os.chown(fresh, -1, group)
    fresh.chmod(mode)
    fresh.replace(path)
