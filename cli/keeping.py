"""The commands for what must not be lost: `parley backup` and `parley restore`."""

# ruff: noqa: PLC0415  imports where they are needed

from pathlib import Path
from typing import Annotated

import typer

New = Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty one.")]
Made = Annotated[Path, typer.Argument(metavar="FOLDER", help="Made by `parley backup`.")]


def backup(folder: New) -> None:
    """Copy the log, timers, artefacts and SQLite databases into a folder; everything may run meanwhile."""
    from cli import main
    from cli.backup import backup as copy

    main._run("backup", lambda settings: copy(settings, folder))


def restore(folder: Made) -> None:
    """Bring a backup back to a NATS server and a PARLEY_HOME that are empty, while no service runs."""
    from cli import main
    from cli.backup import restore as bring

    main._run("restore", lambda settings: bring(settings, folder))
