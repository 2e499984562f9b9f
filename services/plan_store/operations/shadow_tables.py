"""The shadow tables that a rebuild fills: in a file next to SQLite's, or in a schema of PostgreSQL."""

import asyncio
import hashlib
from functools import partial
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    delete,
    exists,
    insert,
    select,
    text,
    union_all,
)
from sqlalchemy.schema import CreateSchema, DropSchema

from services.plan_store.database import ProjectionDatabase
from services.plan_store.tables import (
    METADATA,
    PROJECTED,
    journal,
    parked_messages,
    sessions,
    tombstones,
    waiting_for_upgrade,
)

NAME = "rebuild"
MAX_LOST = 1000  # messages that are looked up
ROOT = Path(__file__).parents[3]
RULES = ("services/plan_store", "shared/domain", "parley/events")  # the code that determines the rows

_progress = Table(
    "rebuild_progress",
    MetaData(),
    Column("stream", Text, primary_key=True),  # when the stream was created
    Column("release", Text, nullable=False),
    Column("position", BigInteger, nullable=False),  # all messages up to here are in the rows
)
_ATTACHED = {table: table.to_metadata(MetaData(), schema=NAME) for table in PROJECTED}


class ShadowTables:
    """`live` has the rows in use, `database` the ones that will replace them."""

    def __init__(self, live: ProjectionDatabase) -> None:
        self.live = live
        self.database = live.sibling(NAME)

    async def open(self, stream: str, last: int) -> int:
        """Create the tables, or resume an interrupted rebuild of this stream and release; return its position."""
        position = await self._resume_position(stream)
        if position is not None and position <= last:
            return position
        await self.remove()
        if not self.live.is_sqlite:
            async with self.live.begin() as tx:
                await tx.execute(CreateSchema(NAME))
        await self.database.run(_create)
        async with self.database.begin() as tx:
            await tx.execute(insert(_progress).values(stream=stream, release=release_digest(), position=0))
        return 0

    async def _resume_position(self, stream: str) -> int | None:
        if self.database.file and not self.database.file.exists():
            return None
        async with self.database.begin() as tx:
            if not await tx.run_sync(lambda c: c.dialect.has_table(c, _progress.name)):
                return None
            same_source = (_progress.c.stream == stream, _progress.c.release == release_digest())
            return await tx.scalar(select(_progress.c.position).where(*same_source))

    async def swap(self) -> None:
        """Replace the rows in use in one transaction. Purged sessions stay purged."""
        await self.live.run_attached(_replace, self.database.file, NAME)
        await self.remove()

    async def lost_messages(self, last: int) -> list[tuple[str, int]]:
        """Session and position of messages up to `last` that the rows in use have and these have not; at most 1,000."""
        return await self.live.run_attached(partial(_lost_messages, last), self.database.file, NAME)

    async def remove(self) -> None:
        await self.database.close()
        self.database = self.live.sibling(NAME)
        if file := self.database.file:
            await asyncio.to_thread(_unlink, file)
            return
        async with self.live.begin() as tx:
            await tx.execute(DropSchema(NAME, cascade=True, if_exists=True))


def _unlink(file: Path) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{file}{part}").unlink(missing_ok=True)


def record_progress(tx: Connection, position: int) -> None:
    """Record that all messages up to `position` are in the rows."""
    tx.execute(_progress.update().values(position=position))


def release_digest() -> str:
    """A digest of the code in `RULES`, so that a rebuild never mixes the rows of two releases."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in RULES for path in (ROOT / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _create(tx: Connection) -> None:
    METADATA.create_all(tx)
    _progress.create(tx)


def _replace(tx: Connection) -> None:
    if tx.dialect.name == "postgresql":  # rows that services insert meanwhile would collide
        tx.execute(text(f"LOCK TABLE {', '.join(table.name for table in PROJECTED)} IN EXCLUSIVE MODE"))
    for table in reversed(PROJECTED):
        tx.execute(delete(table))
    for table in PROJECTED:
        names = [column.name for column in table.columns]
        tx.execute(insert(table).from_select(names, select(_ATTACHED[table])))
    tx.execute(delete(sessions).where(sessions.c.id.in_(select(tombstones.c.session_id))))


def _lost_messages(last: int, tx: Connection) -> list[tuple[str, int]]:
    """See `ShadowTables`. What a newer release has to fold is not lost, and neither is a purged session."""
    live = union_all(*(select(table.c.session_id, table.c.position) for table in (journal, parked_messages))).subquery()
    new, waiting = [_ATTACHED[table] for table in (journal, parked_messages)], _ATTACHED[waiting_for_upgrade]
    query = select(live.c.session_id, live.c.position).where(
        live.c.position <= last,
        *(~exists().where(table.c.position == live.c.position) for table in new),
        live.c.session_id.not_in(select(waiting.c.session_id)),
        live.c.session_id.not_in(select(tombstones.c.session_id)),
    )
    return [(row[0], row[1]) for row in tx.execute(query.order_by(live.c.position).limit(MAX_LOST))]
