"""The rows that a rebuild makes, beside those in use: a file next to SQLite's, or a schema of PostgreSQL."""

import asyncio
import hashlib
from pathlib import Path

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, Text, delete, insert, select, text
from sqlalchemy.schema import CreateSchema, DropSchema

from services.plan_store.database import Database
from services.plan_store.tables import METADATA, PROJECTED, sessions, tombstones

NAME = "rebuild"
ROOT = Path(__file__).parents[2]
RULES = ("services/plan_store", "shared/domain", "parley/events")  # the code that decides what the rows are

_progress = Table(
    "rebuild_progress",
    MetaData(),
    Column("stream", Text, primary_key=True),  # when it was made
    Column("release", Text, nullable=False),
    Column("position", BigInteger, nullable=False),  # up to here all messages are in the rows
)
_ATTACHED = {table: table.to_metadata(MetaData(), schema=NAME) for table in PROJECTED}


class Shadow:
    """`live` has the rows in use, `database` those that take their place."""

    def __init__(self, live: Database) -> None:
        self.live = live
        self.database = live.beside(NAME)

    async def open(self, stream: str, last: int) -> int:
        """Go on with what an earlier rebuild left, if it is of this stream and release; the position it came to."""
        position = await self._left(stream)
        if position is not None and position <= last:
            return position
        await self.remove()
        if not self.live.is_sqlite:
            async with self.live.begin() as tx:
                await tx.execute(CreateSchema(NAME))
        await self.database.work(_create)
        async with self.database.begin() as tx:
            await tx.execute(insert(_progress).values(stream=stream, release=release(), position=0))
        return 0

    async def _left(self, stream: str) -> int | None:
        if self.database.file and not self.database.file.exists():
            return None
        async with self.database.begin() as tx:
            if not await tx.run_sync(lambda c: c.dialect.has_table(c, _progress.name)):
                return None
            mine = (_progress.c.stream == stream, _progress.c.release == release())
            return await tx.scalar(select(_progress.c.position).where(*mine))

    async def swap(self) -> None:
        """Replace the rows in use, all at once: who reads meanwhile sees the old ones. What was purged stays so."""
        await self.live.replace(_replace, self.database.file, NAME)
        await self.remove()

    async def remove(self) -> None:
        await self.database.close()
        self.database = self.live.beside(NAME)
        if file := self.database.file:
            await asyncio.to_thread(_unlink, file)
            return
        async with self.live.begin() as tx:
            await tx.execute(DropSchema(NAME, cascade=True, if_exists=True))


def _unlink(file: Path) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{file}{part}").unlink(missing_ok=True)


def reached(tx: Connection, position: int) -> None:
    """Up to here all messages are in the rows."""
    tx.execute(_progress.update().values(position=position))


def release() -> str:
    """Rows of two releases must not be mixed."""
    found = hashlib.sha256()
    for path in sorted(path for folder in RULES for path in (ROOT / folder).rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _create(tx: Connection) -> None:
    METADATA.create_all(tx)
    _progress.create(tx)


def _replace(tx: Connection) -> None:
    if tx.dialect.name == "postgresql":  # rows that services add meanwhile would collide
        tx.execute(text(f"LOCK TABLE {', '.join(table.name for table in PROJECTED)} IN EXCLUSIVE MODE"))
    for table in reversed(PROJECTED):
        tx.execute(delete(table))
    for table in PROJECTED:
        names = [column.name for column in table.columns]
        tx.execute(insert(table).from_select(names, select(_ATTACHED[table])))
    tx.execute(delete(sessions).where(sessions.c.id.in_(select(tombstones.c.session_id))))
