"""`parley secrets`: creates the passwords of the containers once, and gives each container those that it needs.

PARLEY_HOME (a volume) then has `secrets/`, which only this command reads, and a folder for each container with files
named like settings, or as its image expects. Each folder belongs to the group named like the container; the account
that runs this command is a member of all these groups, so it does not need root.
"""

import os
import sys
from collections.abc import Callable, Mapping
from grp import getgrnam
from pathlib import Path
from urllib.parse import quote

from cli.operate.home import secret
from cli.operate.programs import SECRETS_OF
from shared.services import MODEL_KEYS
from shared.settings import Settings

REHEARSAL = {"openai_base_url": "http://rehearsal:23333/v1", "openai_model": "rehearsal"}  # in docker-compose.yml
SECRET_NAMES = sorted({name for names in SECRETS_OF.values() for name in names} | {"postgres", "reader"})
_FOLDER, _FILE = 0o750, 0o640


class NoSuchSecret(Exception):
    """There is no secret of this name; the message lists all names."""


class NotInContainers(Exception):
    """The containers' groups do not exist on this machine. `parley up` does not need this command."""


def _group(name: str) -> int:
    try:
        return getgrnam(name).gr_gid
    except KeyError as error:
        raise NotInContainers(
            f"there is no group {name} here. This is for containers, where `docker compose up` runs it;\n"
            "`parley up` makes its passwords by itself."
        ) from error


def distribute_secrets(settings: Settings, *, replace: str = "", group: Callable[[str], int] = _group) -> None:
    """Create missing secrets and write every container's folder. With `replace`, first read that secret from stdin.

    Where neither the settings nor a secret name a model, the folders name the rehearsal model.

    Raises NoSuchSecret, and NotInContainers before anything is written.
    """
    groups = {name: group(name) for name in (*SECRETS_OF, "postgres", "nats")}  # raises before anything is written
    home = settings.parley_home
    secret(home, "postgres")  # creates the private folder
    if replace:
        _replace(home / "secrets", replace)
    is_configured = settings.model_url or any((home / "secrets" / key).exists() for key in MODEL_KEYS)
    for container, names in SECRETS_OF.items():
        values = {name: _value(home, container, name) for name in names} | ({} if is_configured else REHEARSAL)
        _write_folder(home / container, groups[container], {name: text for name, text in values.items() if text})
    _write_folder(home / "postgres", groups["postgres"], {name: secret(home, name) for name in ("postgres", "reader")})
    exported = "".join(_exported(user, _password(home, user)) for user in SECRETS_OF)
    _write_folder(home / "nats", groups["nats"], {"passwords": exported})


def _replace(folder: Path, name: str) -> None:
    """Replace a secret with stdin. Empty input deletes it: it is then generated again, or not set."""
    if name not in SECRET_NAMES:
        raise NoSuchSecret(f"there is no secret {name}; those there are: {', '.join(SECRET_NAMES)}")
    text = sys.stdin.read().strip().removeprefix("\ufeff")
    (folder / name).unlink(missing_ok=True)
    if text:
        _write(folder / name, text, mode=0o600)


def _value(home: Path, container: str, name: str) -> str:
    """The operator's value, or else the default for docker-compose.yml; "" if there is neither."""

    def quoted(name: str) -> str:
        return quote(secret(home, name), safe="")

    defaults: Mapping[str, Callable[[], str]] = {
        "nats_url": lambda: f"nats://{container}:{_password(home, container)}@nats:4222",
        "database_url": lambda: f"postgresql://parley:{quoted('postgres')}@postgres:5432/parley",
        "parley_sql_database_url": lambda: f"postgresql://reader:{quoted('reader')}@postgres:5432/parley",
        "parley_token": lambda: secret(home, "parley_token"),
        "parley_secret": lambda: secret(home, "parley_secret"),
    }
    own = home / "secrets" / name
    return own.read_text(encoding="utf-8-sig").strip() if own.exists() else defaults.get(name, str)()


def _password(home: Path, user: str) -> str:
    return secret(home, f"nats-{user}")


def _exported(user: str, password: str) -> str:
    """A line of shell. The value contains quotes because nats-server parses it as configuration."""
    return f"""NATS_PASSWORD_{user.upper()}='"{password}"'\n"""


def _write_folder(folder: Path, group: int, files: Mapping[str, str]) -> None:
    """Make the folder contain exactly these files, readable by the group. Files are replaced atomically."""
    folder.mkdir(exist_ok=True)
    os.chown(folder, -1, group)
    folder.chmod(_FOLDER)
    for name, text in files.items():
        _write(folder / name, text, mode=_FILE, group=group)
    for stale in {path.name for path in folder.iterdir()} - files.keys():
        (folder / stale).unlink()


def _write(path: Path, text: str, *, mode: int, group: int = -1) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        stream.write(text)
    os.chown(temporary, -1, group)
    temporary.chmod(mode)
    temporary.replace(path)
