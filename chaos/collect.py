"""Gathers the evidence of a run from the log, the databases and the tool's file, as they lie there at its end."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from sqlalchemy import RowMapping, select, text
from sqlalchemy.ext.asyncio import create_async_engine

from chaos.accounts import Served
from chaos.evidence import Effect, Row, Rows
from packs.retail.data import Data
from packs.retail.generate import generate
from packs.retail.pack import result_of
from packs.retail.store import Worlds
from packs.retail.tables import effects
from packs.retail.tasks.replay import Replay, Shop
from services.plan_store.database import Database
from services.plan_store.rebuild import rebuild_from
from services.plan_store.tables import PROJECTED
from shared.bus import JetStreamLog
from shared.log import StoredMessage

PAGE = 1000
type Documents = dict[str, Any]


async def read_log(log: JetStreamLog) -> dict[str, list[StoredMessage]]:
    """Every message of every session, as any replica has it: wait until they agree."""
    found: dict[str, list[StoredMessage]] = {}
    after = 0
    while page := await log.read_all(after=after, limit=PAGE):
        for raw in page:
            found.setdefault(raw.subject.split(".")[1], []).append(raw)
        after = page[-1].position
    return found


async def read_rows(url: str) -> Rows:
    """What the projected tables hold."""
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            return {table.name: _rows(await connection.execute(select(table))) for table in PROJECTED}
    finally:
        await engine.dispose()


async def read_folded(log: JetStreamLog, folder: Path) -> Rows:
    """What a new database makes of the log."""
    url = f"sqlite+aiosqlite:///{folder / 'again.db'}"
    database = Database(url)
    try:
        await database.migrate()
        await rebuild_from(log, database, lambda _, __: None)
    finally:
        await database.close()
    return await read_rows(url)


async def read_effects(url: str) -> list[Effect]:
    """The keyed effects of the store, in the order in which they lie there: nobody removes one or changes it."""
    engine = create_async_engine(url)
    order = text("rowid" if engine.dialect.name == "sqlite" else "ctid")
    try:
        async with engine.connect() as connection:
            found = (await connection.execute(select(effects).order_by(order))).mappings().all()
    finally:
        await engine.dispose()
    return [_effect(row) for row in found]


async def read_worlds(
    url: str, done: Iterable[Effect]
) -> tuple[dict[str, Documents], dict[str, Documents], dict[str, JsonValue]]:
    """What differs from the base in every world that something was done in: as it is, and as the effects make it.

    And what each of these effects says when it is made again like this, by key.
    """
    base = generate()
    shop = Shop(base)
    replays: dict[str, Replay] = {}
    answers = {
        effect.key: result_of(replays.setdefault(effect.world, shop.fresh()).call(effect.tool, effect.arguments))
        for effect in done
    }
    worlds = Worlds(url, lambda: base)
    await worlds.open()
    try:
        found = {name: _differing(await worlds.world(name).changes(), base) for name in {*replays, "shared"}}
    finally:
        await worlds.close()
    nothing = shop.fresh()
    made = {name: {f"{k}/{i}": doc for (k, i), doc in replays.get(name, nothing).changed.items()} for name in found}
    return found, made, answers


def read_notes(path: Path) -> dict[str, int]:
    """How often each line stands there."""
    found: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        found[line] = found.get(line, 0) + 1
    return found


def read_served(path: Path) -> list[Served]:
    """The requests that the model noted there; of each the newest line tells how it ended."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with suppress(ValueError):  # the model was killed while it wrote
            one = json.loads(line)
            found[one["id"]] = one
    return [_served(one) for one in found.values()]


def _served(one: Mapping[str, Any]) -> Served:
    tokens = (one["prompt_tokens"], one["completion_tokens"]) if one["completion_tokens"] is not None else None
    return Served(one["role"], one["outcome"], tokens)


def _differing(data: Data, base: Data) -> Documents:
    found: Mapping[str, Mapping[str, Any]] = data  # type: ignore[assignment]
    return {
        f"{kind}/{one}": document
        for kind, documents in found.items()
        for one, document in documents.items()
        if base[kind].get(one) != document  # type: ignore[literal-required]
    }


def _effect(row: RowMapping) -> Effect:
    arguments, result = json.loads(row["arguments"]), json.loads(row["result"])
    return Effect(row["world"], row["key"], row["tool"], arguments, result_of(str(result)))


def _rows(result: Any) -> list[Row]:
    return [tuple(row) for row in result]
