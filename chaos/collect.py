"""Collects the evidence of a run from the log, the databases and files, at its end."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue
from sqlalchemy import RowMapping, select, text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from chaos.deployment import Deployment
from chaos.evidence import Effect, Evidence, Rows
from chaos.model_usage import ServedRequest
from chaos.poison_messages import POISON_HEADER
from chaos.reconnecting_client import SocketRecord
from chaos.simulated_user import SimulatedUser
from packs.retail.generate import generate
from packs.retail.pack import result_of
from packs.retail.records import Data
from packs.retail.relations import effects
from packs.retail.store import Worlds
from packs.retail.tasks.replay import Replay, Shop
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.tables import PROJECTED
from shared.bus import JetStreamLog
from shared.log import StoredMessage

PAGE_SIZE = 1000
type Documents = dict[str, Any]


async def collect_evidence(
    deployed: Deployment, users: Sequence[SimulatedUser], socket_records: Iterable[SocketRecord] = ()
) -> Evidence:
    """Everything, once all sessions have ended. `socket_records`: those of further sockets."""
    logs = await read_log(deployed.bus.log)
    effects = await read_effects(deployed.settings.retail_url)
    worlds, replayed, answers = await read_worlds(deployed.settings.retail_url, effects)
    return Evidence(
        log=logs,
        poison_positions=frozenset(
            raw.position for raws in logs.values() for raw in raws if POISON_HEADER in raw.headers
        ),
        is_clustered=deployed.settings.nats_replicas > 1,
        socket_records=[*(record for user in users for record in user.client.recorder.records), *socket_records],
        acknowledged=[command for user in users for command in user.acknowledged],
        user_outcomes=[user.outcome for user in users],
        rows=await read_rows(deployed.settings.sql_url),
        rebuilt_rows=await read_rebuilt_rows(deployed.bus.log, deployed.folder),
        effects=effects,
        worlds=worlds,
        replayed_worlds=replayed,
        replayed_results=answers,
        notes=read_notes(deployed.notes_file),
        served_requests=read_served(deployed.served_file),
        exits=deployed.exits,
        outstanding=await deployed.outstanding(),
    )


async def read_log(log: JetStreamLog) -> dict[str, list[StoredMessage]]:
    """Every message by session, from any replica. Wait until the replicas agree before calling this."""
    logs: dict[str, list[StoredMessage]] = {}
    after = 0
    while page := await log.read_all(after=after, limit=PAGE_SIZE):
        for raw in page:
            logs.setdefault(raw.subject.split(".")[1], []).append(raw)
        after = page[-1].position
    return logs


async def read_rows(url: str) -> Rows:
    """The rows of the projected tables."""
    async with _connected(url) as connection:
        return {table.name: [tuple(row) for row in await connection.execute(select(table))] for table in PROJECTED}


async def read_rebuilt_rows(log: JetStreamLog, folder: Path) -> Rows:
    """The rows of a new database, projected from the log."""
    url = f"sqlite+aiosqlite:///{folder / 'again.db'}"
    database = ProjectionDatabase(url)
    try:
        await database.migrate()
        await rebuild_from(log, database, lambda _, __: None)
    finally:
        await database.close()
    return await read_rows(url)


async def read_effects(url: str) -> list[Effect]:
    """The retail store's keyed effects in the order of insertion. They are never changed or deleted."""
    async with _connected(url) as connection:
        order = text("rowid" if connection.dialect.name == "sqlite" else "ctid")
        return [_effect(row) for row in (await connection.execute(select(effects).order_by(order))).mappings()]


async def read_worlds(
    url: str, done: Iterable[Effect]
) -> tuple[dict[str, Documents], dict[str, Documents], dict[str, JsonValue]]:
    """The differences from the base data by retail world: as stored, and as rebuilt by replaying the effects.

    Also the result of each effect in that replay, by key.
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
        current = {name: _differences(await worlds.world(name).changes(), base) for name in {*replays, "shared"}}
    finally:
        await worlds.close()
    nothing = shop.fresh()
    replayed = {
        name: {f"{k}/{i}": doc for (k, i), doc in replays.get(name, nothing).changed.items()} for name in current
    }
    return current, replayed, answers


def read_notes(path: Path) -> dict[str, int]:
    """How often each line occurs in the file."""
    return Counter(_lines(path))


def read_served(path: Path) -> list[ServedRequest]:
    """The requests in the model's ledger. The last line of each tells how it ended."""
    records: dict[str, dict[str, Any]] = {}
    for line in _lines(path):
        with suppress(ValueError):  # the model was killed while writing
            record = json.loads(line)
            records[record["id"]] = record
    return [served_request(record) for record in records.values()]


def served_request(record: Mapping[str, Any]) -> ServedRequest:
    tokens = (record["prompt_tokens"], record["completion_tokens"]) if record["completion_tokens"] is not None else None
    return ServedRequest(record["role"], record["outcome"], tokens)


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[AsyncConnection]:
    engine = create_async_engine(url)
    try:
        async with engine.connect() as connection:
            yield connection
    finally:
        await engine.dispose()


def _differences(data: Data, base: Data) -> Documents:
    by_kind: Mapping[str, Mapping[str, Any]] = data  # type: ignore[assignment]
    return {
        f"{kind}/{document_id}": document
        for kind, documents in by_kind.items()
        for document_id, document in documents.items()
        if base[kind].get(document_id) != document  # type: ignore[literal-required]
    }


def _effect(row: RowMapping) -> Effect:
    arguments, result = json.loads(row["arguments"]), json.loads(row["result"])
    return Effect(row["world"], row["key"], row["tool"], arguments, result_of(str(result)))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
