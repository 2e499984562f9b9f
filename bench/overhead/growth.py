"""What stored sessions cost those that are at work: loaded in bulk, straight into the log and the database.

Each has the events of the conversation, and the rows that plan_store makes of them. The rows are copies of those of a
session that went its way before, with other ids, positions and digests.
"""

import asyncio
import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import batched
from pathlib import Path
from typing import Any, NamedTuple

import nats
from nats.aio.client import Client

from bench.overhead import world
from bench.overhead.lines import Lines, ids
from bench.overhead.person import Person, Stage
from bench.overhead.pipeline import workers_of
from shared.bus.topology import SESSIONS
from shared.domain.session import SESSION
from shared.log import guard
from shared.services import CONSUMERS

WARM = 20  # conversations before the clock starts
CHUNK = 1000  # appends for one acknowledgement
ROWS = 5000  # sessions in one transaction


class Grown(NamedTuple):
    """With so many sessions stored: seconds until the services are ready, and their stages then."""

    stored: int
    start: float
    stages: list[Stage]


async def growth(folder: Path, lines: Lines, counts: Sequence[int], conversations: int) -> list[Grown]:
    """The same conversations one at a time, with more and more sessions beside them."""
    results, there = [], 0
    async with world.server(folder, always=False) as (place, _):
        await _measured(place, lines, 1)  # also the session whose rows are copied
        for count in counts:
            await _load(place, lines, ids(count - there))
            there = count
            start, stages = await _measured(place, lines, conversations)
            results.append(Grown(count, start, stages))
    return results


async def _measured(place: world.Place, lines: Lines, conversations: int) -> tuple[float, list[Stage]]:
    began = time.perf_counter()
    async with world.running(world.services(place, workers_of(lines))), await nats.connect(place.url) as client:
        start = time.perf_counter() - began
        await Person(client, lines, guarded=True).play(ids(min(WARM, conversations)), 1)
        return start, (await Person(client, lines, guarded=True).play(ids(conversations), 1)).stages


async def _load(place: world.Place, lines: Lines, session_ids: Sequence[str]) -> None:
    """Append the sessions and insert their rows while no service runs; consumers start behind them."""
    async with await nats.connect(place.url) as client:
        jetstream = client.jetstream(timeout=60)
        first = (await jetstream.stream_info(SESSIONS)).state.last_seq + 1
        await _append(client, lines, session_ids, first)
        last = first + len(lines) * len(session_ids)
        for name in (consumer.name for consumer in CONSUMERS if consumer.stream == SESSIONS):
            config = (await jetstream.consumer_info(SESSIONS, name)).config
            await jetstream.delete_consumer(SESSIONS, name)
            later = {"deliver_policy": "by_start_sequence", "opt_start_seq": last}
            await jetstream.add_consumer(SESSIONS, config.evolve(**later))
    await asyncio.to_thread(_insert, place.folder / "parley.db", session_ids, first, len(lines))


async def _append(client: Client, lines: Lines, session_ids: Sequence[str], first: int) -> None:
    """Of each chunk only the last one is acknowledged: by then the broker has looked at all before it."""
    jetstream = client.jetstream(timeout=60)
    messages = _messages(lines, session_ids, first)
    for chunk in batched(messages, CHUNK):
        for subject, body, headers in chunk[:-1]:
            await client.publish(subject, body, headers=headers)
        subject, body, headers = chunk[-1]
        await jetstream.publish(subject, body, stream=SESSIONS, headers=headers)
    last = (await jetstream.stream_info(SESSIONS)).state.last_seq
    if last != first - 1 + len(lines) * len(session_ids):
        raise RuntimeError(f"the log is at {last}: it has not taken everything")


def _messages(lines: Lines, session_ids: Sequence[str], first: int) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    position = first - 1
    for session_id in session_ids:
        after = 0
        for number, line in enumerate(lines):
            yield line.subject(session_id), line.body_of(session_id), guard(session_id, after, f"{session_id}:{number}")
            position = after = position + 1


def _insert(file: Path, session_ids: Sequence[str], first: int, events: int) -> None:
    """Each table's rows of the session that is copied, again for each new one."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in tables}
        of_sessions = [table for table in tables if "session_id" in columns[table] and table != "parked_messages"]
        ((model, began),) = connection.execute(
            "SELECT session_id, min(position) FROM journal GROUP BY session_id ORDER BY 2 LIMIT 1"
        ).fetchall()
        for start in range(0, len(session_ids), ROWS):
            some = session_ids[start : start + ROWS]
            for table in ("sessions", *of_sessions):
                key = "id" if table == "sessions" else "session_id"
                found = connection.execute(f"SELECT * FROM {table} WHERE {key} = ?", (model,)).fetchall()
                marks = ", ".join("?" * len(columns[table]))
                offsets = range(first - began + events * start, first - began + events * (start + len(some)), events)
                rows = _copies(columns[table], found, model, zip(some, offsets, strict=True))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            connection.commit()


def _copies(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], model: str, sessions: Iterable[tuple[str, int]]
) -> Iterator[tuple[Any, ...]]:
    """The rows for each of these sessions, whose positions are so much higher."""
    for session_id, offset in sessions:
        for row in rows:
            values = {name: _other(value, model, session_id) for name, value in zip(columns, row, strict=True)}
            if "position" in values:
                values["position"] += offset
            if "snapshot" in values:
                session = SESSION.validate_json(values["snapshot"])
                values["snapshot_digest"] = hashlib.sha256(SESSION.dump_json(session)).hexdigest()[:32]
            yield tuple(values.values())


def _other(value: Any, model: str, session_id: str) -> Any:
    return value.replace(model, session_id) if isinstance(value, str) else value
