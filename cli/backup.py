"""`parley backup` and `parley restore`: the log and what belongs to it as a folder of files, and back.

The sessions' database comes first, then the log, then the retail store's. A projection that is behind its log catches
up; one that is ahead of it would know what never happened. A world that is ahead of the log answers a write by its key;
one that is behind it would lack what the log says was done.
"""

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.command import Declined, Unreachable
from cli.running import bus
from shared.bus import BusDown
from shared.bus.log_format import WrongFormat, require_format
from shared.bus.provision import ProvisionError, provision
from shared.bus.snapshot import SnapshotError, load, messages, remove_empty, save
from shared.bus.topology import KEPT, SESSIONS
from shared.settings import Settings

CONTENTS = "contents.json"
FORMAT = 1
LITE = "sqlite+aiosqlite:///"
LATER = (
    "Its PostgreSQL databases are not in it: dump them with pg_dump, the sessions' own before a backup and the retail "
    "store's after it (the sessions' can also be made again from the log with `parley rebuild`, all but the ids of "
    "purged sessions)."
)


async def backup(settings: Settings, folder: Path) -> int:
    """Copy everything into the folder, which must be new or empty. Raises Declined, Unreachable."""
    await asyncio.to_thread(_begin, folder)
    databases = await _copies(settings, folder, "parley.db")
    kept: dict[str, Any] = {}
    async with bus(settings) as found:
        for stream in KEPT:
            try:
                told = await save(found, stream, folder / f"{stream}.snapshot")
            except (BusDown, SnapshotError) as error:
                raise Unreachable(f"{error}. The folder {folder} is no backup: remove it.") from error
            if told is not None:
                kept[stream] = told
                print(f"{stream:<14} {told['state']['messages']} messages")
    databases += await _copies(settings, folder, "retail.db")
    contents = {"format": FORMAT, "at": datetime.now(UTC).isoformat(), "streams": kept, "databases": databases}
    (folder / CONTENTS).write_text(json.dumps(contents, indent=1), encoding="utf-8")  # last: without it, it is none
    for name in databases:
        print(f"{name:<14} copied")
    if any(not url.startswith(LITE) for url in (settings.sql_url, settings.retail_url)):
        print(LATER)
    return 0


async def restore(settings: Settings, folder: Path) -> int:
    """Bring it back to an empty NATS server and PARLEY_HOME. Raises Declined, Unreachable."""
    contents = _contents(folder)
    homes = _databases(settings)
    there = [str(homes[name]) for name in contents["databases"] if name in homes and homes[name].exists()]
    if there:
        raise Declined(f"{', '.join(there)} would be overwritten: move it away, or name another PARLEY_HOME.")
    async with bus(settings) as found:
        try:
            filled = [stream for stream in KEPT if await messages(found, stream)]
            if filled:
                raise Declined(f"The server has {', '.join(filled)} already: a backup comes back to an empty one.")
            for stream, known in contents["streams"].items():
                if await messages(found, stream) is not None:
                    await remove_empty(found, stream)
                number = await load(found, stream, folder / f"{stream}.snapshot", known)
                print(f"{stream:<14} {number} messages")
            for line in await provision(settings):
                print(line)
        except (BusDown, SnapshotError, ProvisionError, OSError) as error:
            raise Unreachable(f"{error}. Nothing is usable yet: empty the server and try again.") from error
    for name in contents["databases"]:
        if name in homes:
            homes[name].parent.mkdir(parents=True, exist_ok=True)
            await _copied(folder / name, homes[name])
            print(f"{name:<14} copied")
    print(
        "Run `parley rebuild` before the services start, or right after it where `parley up` starts your NATS: the log"
    )
    print("may know more than the databases of the same backup, and a database that survived more than the log.")
    return 0


def _begin(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Declined(f"{folder} is not empty: name a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # every word of every session is in it


def _contents(folder: Path) -> dict[str, Any]:
    try:
        contents: dict[str, Any] = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Declined(f"{folder} is no backup, or one that broke off: {CONTENTS} cannot be read.") from error
    if contents.get("format") != FORMAT:
        raise Declined(f"{folder} was made by another version of Parley (format {contents.get('format')}).")
    try:
        if sessions := contents["streams"].get(SESSIONS):
            require_format(sessions)
    except WrongFormat as error:
        raise Declined(f"{folder} is of another release of Parley. {error}") from error
    return contents


def _databases(settings: Settings) -> dict[str, Path]:
    """Those that are files: name in a backup → where it is."""
    urls = {"parley.db": settings.sql_url, "retail.db": settings.retail_url}
    return {name: Path(url.removeprefix(LITE)) for name, url in urls.items() if url.startswith(LITE)}


async def _copies(settings: Settings, folder: Path, *names: str) -> list[str]:
    """The names of those that there are."""
    return [name for name, path in _databases(settings).items() if name in names and await _copied(path, folder / name)]


async def _copied(source: Path, target: Path) -> bool:
    """A consistent copy, also while others write to it; False where there is nothing to copy."""

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
