"""The commands `parley backup` and `parley restore`."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

from pathlib import Path
from typing import Annotated

import typer

from cli.entry import run_with_settings

NewFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")]
BackupFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that `parley backup` wrote.")]


def backup(folder: NewFolder) -> None:
    """Copy the log, timers, artefacts and SQLite databases into a folder, also while services run."""
    from cli.backup import create_backup

    run_with_settings("backup", lambda settings: create_backup(settings, folder))


def restore(folder: BackupFolder) -> None:
    """Restore a backup to an empty NATS server and an empty PARLEY_HOME, while no service runs."""
    from cli.backup import restore_backup

    run_with_settings("restore", lambda settings: restore_backup(settings, folder))
