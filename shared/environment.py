"""Environment variables beyond the settings: for child processes, and those that configuration files name."""

import os
from collections.abc import Collection
from pathlib import Path


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment with `overrides`; the child's output is not buffered."""
    return os.environ | {"PYTHONUNBUFFERED": "1"} | overrides


def with_secret_files(settings: Collection[str]) -> dict[str, str]:
    """This process's environment, with `settings` that are files in SECRETS_DIR. Variables override files."""
    ours = dict(os.environ)
    present = {name.lower() for name, value in ours.items() if value}
    folder = ours.pop("SECRETS_DIR", "")
    for file in Path(folder).iterdir() if folder else ():
        if (name := file.name.lower()) in settings and name not in present and file.is_file():
            ours[name.upper()] = file.read_text(encoding="utf-8-sig").strip()
    return ours


def environment_variable(name: str) -> str | None:
    """The variable that a configuration file names; None if it is not set."""
    return os.environ.get(name)


def keep_files_private() -> None:
    """Make files that this process and its children create readable only by this account."""
    os.umask(0o077)
