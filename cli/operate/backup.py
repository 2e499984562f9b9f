"""`parley backup` and `parley restore`: copy the log and its databases to a folder of files, and back.

The order matters: first the sessions' database, then the log, then the retail store. A projection that is behind the
log catches up; one that is ahead would describe events that do not exist. A retail store that is ahead of the log
recognises a repeated write by its key; one that is behind would lack writes that the log says were done.
"""

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.bus_client import connect_bus
from cli.command import Declined, Unreachable
from shared.bus import BusUnavailable
from shared.bus.log_format import WrongFormat, require_format
from shared.bus.provision import ProvisionError, provision
from shared.bus.snapshot import SnapshotError, message_count, remove_empty, restore, save
from shared.bus.topology import BACKED_UP, SESSIONS
from shared.settings import Settings

CONTENTS = "contents.json"
FORMAT = 1
LITE = "sqlite+aiosqlite:///"
LATER = (
    "Its PostgreSQL databases are not in it: dump them with pg_dump, the sessions' own before a backup and the retail "
    "store's after it (the sessions' can also be made again from the log with `parley rebuild`, all but the ids of "
    "purged sessions)."
)


async def create_backup(settings: Settings, folder: Path) -> int:
    """Copy everything into the folder, which must be new or empty. Raises Declined, Unreachable."""
    await asyncio.to_thread(_create_folder, folder)
    databases = await _copy_databases(settings, folder, "parley.db")
    streams: dict[str, Any] = {}
    async with connect_bus(settings) as bus:
        for stream in BACKED_UP:
            try:
                header = await save(bus, stream, folder / f"{stream}.snapshot")
            except (BusUnavailable, SnapshotError) as error:
                raise Unreachable(f"{error}. The folder {folder} is no backup: remove it.") from error
            if header is not None:
                streams[stream] = header
                print(f"{stream:<14} {header['state']['messages']} messages")
    databases += await _copy_databases(settings, folder, "retail.db")
    contents = {"format": FORMAT, "at": datetime.now(UTC).isoformat(), "streams": streams, "databases": databases}
    # Written last: a folder without it is not a backup.
    (folder / CONTENTS).write_text(json.dumps(contents, indent=1), encoding="utf-8")
    for name in databases:
        print(f"{name:<14} copied")
    if any(not url.startswith(LITE) for url in (settings.sql_url, settings.retail_url)):
        print(LATER)
    return 0


async def restore_backup(settings: Settings, folder: Path) -> int:
    """Restore to an empty NATS server and PARLEY_HOME. Raises Declined, Unreachable."""
    contents = _read_contents(folder, settings.parley_home)
    paths = _database_paths(settings)
    existing = [str(paths[name]) for name in contents["databases"] if name in paths and paths[name].exists()]
    if existing:
        raise Declined(f"{', '.join(existing)} would be overwritten: move it away, or name another PARLEY_HOME.")
    async with connect_bus(settings) as bus:
        try:
            filled = [stream for stream in BACKED_UP if await message_count(bus, stream)]
            if filled:
                raise Declined(f"The server has {', '.join(filled)} already: a backup comes back to an empty one.")
            for stream, header in contents["streams"].items():
                if await message_count(bus, stream) is not None:
                    await remove_empty(bus, stream)
                number = await restore(bus, stream, folder / f"{stream}.snapshot", header)
                print(f"{stream:<14} {number} messages")
            for line in await provision(settings):
                print(line)
        except (BusUnavailable, SnapshotError, ProvisionError, OSError) as error:
            raise Unreachable(f"{error}. Nothing is usable yet: empty the server and try again.") from error
    for name in contents["databases"]:
        if name in paths:
            paths[name].parent.mkdir(parents=True, exist_ok=True)
            await _copy_database(folder / name, paths[name])
            print(f"{name:<14} copied")
    print(
        "Run `parley rebuild` before the services start, or right after it where `parley up` starts your NATS: the log"
    )
    print("may know more than the databases of the same backup, and a database that survived more than the log.")
    return 0


def _create_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Declined(f"{folder} is not empty: name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # it contains every session in full


def _read_contents(folder: Path, home: Path) -> dict[str, Any]:
    try:
        contents: dict[str, Any] = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Declined(f"{folder} is no backup, or one that broke off: {CONTENTS} cannot be read.") from error
    if contents.get("format") != FORMAT:
        raise Declined(f"{folder} was made by another version of Parley (format {contents.get('format')}).")
    try:
        if sessions := contents["streams"].get(SESSIONS):
            require_format(sessions, home)
    except WrongFormat as error:
        raise Declined(f"{folder} is of another release of Parley. {error}") from error
    return contents


def _database_paths(settings: Settings) -> dict[str, Path]:
    """The path of each SQLite database by its name in a backup."""
    urls = {"parley.db": settings.sql_url, "retail.db": settings.retail_url}
    return {name: Path(url.removeprefix(LITE)) for name, url in urls.items() if url.startswith(LITE)}


async def _copy_databases(settings: Settings, folder: Path, *names: str) -> list[str]:
    """Copy those of these databases that exist; return their names."""
    return [
        name
        for name, path in _database_paths(settings).items()
        if name in names and await _copy_database(path, folder / name)
    ]


async def _copy_database(source: Path, target: Path) -> bool:
    """Make a consistent copy, even during writes. False if the source does not exist."""

    def copy() -> bool:
        if not source.exists():
            return False
        with (
            closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(target)) as new,
        ):
            old.backup(new)
        return True

    return await asyncio.to_thread(copy)
