"""The environment beside the settings: what a child process is given, and variables that a file of ours names."""

import os
from collections.abc import Collection
from pathlib import Path


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment with `overrides` in place; a child's output is never held back in a buffer."""
    return os.environ | {"PYTHONUNBUFFERED": "1"} | overrides


def inherited(settings: Collection[str]) -> dict[str, str]:
    """This process's environment, and the `settings` that are files in SECRETS_DIR; the environment wins, as ever."""
    ours = dict(os.environ)
    present = {name.lower() for name, value in ours.items() if value}
    folder = ours.pop("SECRETS_DIR", "")
    for file in Path(folder).iterdir() if folder else ():
        if (name := file.name.lower()) in settings and name not in present and file.is_file():
            ours[name.upper()] = file.read_text(encoding="utf-8").strip()
    return ours


def variable(name: str) -> str | None:
    """A variable that a configuration file asks for by its name; None where it is not set."""
    return os.environ.get(name)


def keep_files_private() -> None:
    """From here on nobody but this account can read what this process, and those it starts, write."""
    os.umask(0o077)
