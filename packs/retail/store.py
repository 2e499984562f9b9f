"""Worlds: named copies of one store that share the base data and keep only their own changes.

A call's effect and its result under the idempotency key are stored in one transaction. A world has one writer at a
time, across processes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from packs.retail import relations
from packs.retail.database import WorldDatabase, WorldsUnavailable
from packs.retail.records import KINDS, BufferedRecords, Data, Documents, Index, Kind, StoredDocument, fingerprint
from packs.retail.relations import BASE, METADATA, bases, documents, effects
from packs.retail.tools import READS, TOOLS, perform
from parley import Change, Preview

__all__ = ["SHARED", "World", "Worlds", "WorldsUnavailable", "WrongBase"]

SHARED = "shared"  # the world that all sessions share

# The world's own version of a document, or that of the base.
_DOCUMENT = (
    select(documents.c.place, documents.c.body)
    .where(
        (documents.c.kind == bindparam("kind"))
        & (documents.c.id == bindparam("id"))
        & documents.c.world.in_(bindparam("worlds", expanding=True))
    )
    .order_by(documents.c.world == BASE)
    .limit(1)
)


class WrongBase(Exception):
    """The database holds other data, or the data are inconsistent; the message tells what to do."""


class Worlds:
    """All worlds over one base, in one database. `url` is SQLAlchemy's: sqlite+aiosqlite:// or postgresql+asyncpg://.

    `tables`: the shared world is also kept as relational tables, which temporary worlds do not need.
    """

    def __init__(self, url: str, base: Callable[[], Data], *, tables: bool = True) -> None:
        self._database = WorldDatabase(url)
        self._tables = tables
        self._base = base
        self._index: Index | None = None
        self.fingerprint = ""

    async def open(self) -> None:
        """Fill an empty database; several processes may do so at once. Raises WrongBase, WorldsUnavailable."""
        data = self._base()
        self.fingerprint = fingerprint(data)
        index = Index(data)  # before anything is written: it validates the data

        async def fill(connection: AsyncConnection) -> None:
            await connection.run_sync(METADATA.create_all)
            stored = await connection.scalar(select(bases.c.fingerprint))
            if stored is None:
                await connection.execute(insert(documents), list(_rows(data)))
                await connection.execute(insert(bases).values(fingerprint=self.fingerprint))
            elif stored != self.fingerprint:
                raise WrongBase(
                    f"This database holds worlds over other data ({stored[:12]}, not {self.fingerprint[:12]}): "
                    "name another database for this data, or remove the old one."
                )
            if self._tables and await connection.run_sync(relations.is_empty):
                await connection.run_sync(relations.fill, await _documents(connection, BASE, SHARED))

        try:
            await self._database.write(BASE, fill)
        except IntegrityError as error:
            await self.close()
            raise WrongBase(f"The data refer to something that is not among them: {error.orig}") from error
        except BaseException:
            await self.close()
            raise
        self._index = index

    async def close(self) -> None:
        await self._database.close()

    def world(self, name: str) -> "World":
        if self._index is None:
            raise RuntimeError("open() the worlds first")
        return World(name, self._database, self._index, tables=self._tables and name == SHARED)


class World:
    """One world. Several objects may represent the same world. `tables`: it is also kept as relational tables."""

    def __init__(self, name: str, database: WorldDatabase, index: Index, *, tables: bool) -> None:
        if not 0 < len(name) <= 200:
            raise ValueError("a world's name has 1 to 200 characters")
        self.name = name
        self._database, self._index, self._tables = database, index, tables

    async def call(self, name: str, arguments: Mapping[str, JsonValue], *, key: str | None = None) -> str:
        """The tool's exact result. A write with a key runs once; repeating it returns the stored result.

        Raises ValueError if the key belongs to another call, and WorldsUnavailable if the outcome is unknown.
        """
        if name not in TOOLS:
            return f"Unknown action {name}"
        if name in READS:
            return (await self._dry_run(name, arguments))[0]

        async def work(connection: AsyncConnection) -> str:
            if key is not None and (known := await self._stored_result(connection, key, name, arguments)) is not None:
                return known
            result, draft = await connection.run_sync(self._perform, name, arguments)
            await self._save(connection, draft)
            if key is not None:
                row = {"world": self.name, "key": key, "tool": name, "arguments": _canonical(arguments)}
                await connection.execute(insert(effects).values(**row, result=json.dumps(result)))
            return result

        return await self._database.write(self.name, work)

    async def preview(self, name: str, arguments: Mapping[str, JsonValue]) -> Preview:
        """What the call would change now, without changing it."""
        result, draft = await self._dry_run(name, arguments)
        if name not in TOOLS or result.startswith("Error: "):
            return Preview(known=name in TOOLS, error=result)
        diffs: list[Change] = []
        for (kind, document_id), after in draft.after.items():
            diffs += changes(f"{kind}/{document_id}", json.loads(draft.before[kind, document_id].body), after)
        return Preview(known=True, changes=tuple(diffs))

    async def dump(self) -> Data:
        """All documents, in the order of the base."""
        return await self._database.read(lambda connection: _documents(connection, BASE, self.name))

    async def changes(self) -> Data:
        """The world's own documents: those that were written, even if they equal the base."""
        return await self._database.read(lambda connection: _documents(connection, self.name))

    async def reset(self) -> None:
        """Restore the base, and forget the effects and keys of earlier calls."""

        async def work(connection: AsyncConnection) -> None:
            for table in (documents, effects):
                await connection.execute(delete(table).where(table.c.world == self.name))
            if self._tables:
                await connection.run_sync(relations.fill, await _documents(connection, BASE))

        await self._database.write(self.name, work)

    async def _dry_run(self, name: str, arguments: Mapping[str, JsonValue]) -> tuple[str, BufferedRecords]:
        return await self._database.read(lambda connection: connection.run_sync(self._perform, name, arguments))

    def _perform(
        self, connection: Connection, name: str, arguments: Mapping[str, JsonValue]
    ) -> tuple[str, BufferedRecords]:
        """Perform the call on the current documents without storing anything."""

        def read(kind: Kind, document_id: str) -> StoredDocument:
            at = {"kind": kind, "id": document_id, "worlds": [BASE, self.name]}
            return StoredDocument(*connection.execute(_DOCUMENT, at).one())

        draft = BufferedRecords(self._index, read)
        return perform(draft, name, arguments), draft

    async def _stored_result(
        self, connection: AsyncConnection, key: str, name: str, arguments: Mapping[str, JsonValue]
    ) -> str | None:
        """The stored result of the earlier call with this key; None if there is none."""
        query = select(effects).where((effects.c.world == self.name) & (effects.c.key == key))
        row = (await connection.execute(query)).first()
        if row is None:
            return None
        if (row.tool, row.arguments) != (name, _canonical(arguments)):
            raise ValueError(f"key {key} belongs to another call in world {self.name}: {row.tool} {row.arguments}")
        return str(json.loads(row.result))

    async def _save(self, connection: AsyncConnection, draft: BufferedRecords) -> None:
        for (kind, document_id), document in draft.after.items():
            place, body = draft.before[kind, document_id].place, json.dumps(document)
            at = {"world": self.name, "kind": kind, "id": document_id}
            key = [documents.c[column] == value for column, value in at.items()]
            await connection.execute(delete(documents).where(*key))
            await connection.execute(insert(documents).values(**at, place=place, body=body))
        if self._tables:
            await connection.run_sync(relations.update_rows, draft.after)


def _canonical(arguments: Mapping[str, JsonValue]) -> str:
    return json.dumps(arguments, sort_keys=True)


def _rows(data: Data) -> Iterable[dict[str, Any]]:
    for kind in KINDS:
        for place, (document_id, document) in enumerate(data[kind].items()):
            yield {"world": BASE, "kind": kind, "id": document_id, "place": place, "body": json.dumps(document)}


async def _documents(connection: AsyncConnection, *worlds: str) -> Data:
    """The documents of the first world in order, replaced by those of the second where it has its own."""
    by_kind: dict[Kind, Documents] = {kind: {} for kind in KINDS}
    query = (
        select(documents).where(documents.c.world.in_(worlds)).order_by(documents.c.world != BASE, documents.c.place)
    )
    for row in await connection.execute(query):
        by_kind[row.kind][row.id] = json.loads(row.body)
    return Data(users=by_kind["users"], products=by_kind["products"], orders=by_kind["orders"])


def changes(path: str, before: JsonValue, after: JsonValue) -> Iterator[Change]:
    """The changes in the order of the newer document. A part that was added or removed is one change."""
    pairs = _pairs(before, after)
    if pairs is None:
        if before != after:
            yield Change(path=path, label=_label(after if before is None else before), before=before, after=after)
        return
    for name, old, new in pairs:
        yield from changes(f"{path}/{name}", old, new)


def _label(part: JsonValue) -> str:
    """A label for a part that was added or removed: in the payment history, "Payment" or "Refund"."""
    kind = part.get("transaction_type") if isinstance(part, dict) else None
    return str(kind).capitalize() if kind else ""


def _pairs(before: JsonValue, after: JsonValue) -> list[tuple[str, JsonValue, JsonValue]] | None:
    """The parts of both by name; None unless both are objects or both are lists."""
    if isinstance(before, list) and isinstance(after, list):
        before, after = dict(_by_position(before)), dict(_by_position(after))
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    names = [*after, *(name for name in before if name not in after)]
    return [(name, before.get(name), after.get(name)) for name in names]


def _by_position(values: list[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    return ((str(number), value) for number, value in enumerate(values))
