"""How stored sessions slow active ones down. They are loaded in bulk, straight into the log and the database.

Each has the events of the recorded conversation and the rows that plan_store projects from them. The rows are copies of
those of a session that ran before, with other ids, positions and digests.
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

from bench.overhead import processes
from bench.overhead.load_generator import LoadGenerator, StageTime
from bench.overhead.pipeline import workers_of
from bench.overhead.recorded_events import Recording, new_session_ids
from shared.bus.topology import SESSIONS
from shared.domain.kernel.session import SESSION
from shared.log import guard_headers
from shared.services import CONSUMERS

WARM_UP_SESSIONS = 20  # conversations before the clock starts
APPENDS_PER_ACK = 1000  # appends for one acknowledgement
SESSIONS_PER_TRANSACTION = 5000  # sessions in one transaction


class GrowthPoint(NamedTuple):
    """Start-up time of the services and their stage times with this many sessions stored."""

    stored_sessions: int
    start_seconds: float
    stages: list[StageTime]


async def measure_growth(
    folder: Path, events: Recording, counts: Sequence[int], conversations: int
) -> list[GrowthPoint]:
    """Run the same conversations one at a time, with more and more sessions stored."""
    results, stored_count = [], 0
    async with processes.nats_server(folder, sync_always=False) as (place, _):
        await _run_conversations(place, events, 1)  # also creates the session whose rows are copied
        for count in counts:
            await _load(place, events, new_session_ids(count - stored_count))
            stored_count = count
            start, stages = await _run_conversations(place, events, conversations)
            results.append(GrowthPoint(count, start, stages))
    return results


async def _run_conversations(
    place: processes.BenchServer, events: Recording, conversations: int
) -> tuple[float, list[StageTime]]:
    began = time.perf_counter()
    async with (
        processes.running(place, processes.service_programs(place, workers_of(events))),
        await nats.connect(place.url) as client,
    ):
        start = time.perf_counter() - began
        await LoadGenerator(client, events, guarded=True).run(new_session_ids(min(WARM_UP_SESSIONS, conversations)), 1)
        return start, (await LoadGenerator(client, events, guarded=True).run(new_session_ids(conversations), 1)).stages


async def _load(place: processes.BenchServer, events: Recording, session_ids: Sequence[str]) -> None:
    """Append the sessions and insert their rows while no service runs. Consumers then start after them."""
    async with await nats.connect(place.url) as client:
        jetstream = client.jetstream(timeout=60)
        first = (await jetstream.stream_info(SESSIONS)).state.last_seq + 1
        await _append(client, events, session_ids, first)
        last = first + len(events) * len(session_ids)
        for name in (consumer.name for consumer in CONSUMERS if consumer.stream == SESSIONS):
            config = (await jetstream.consumer_info(SESSIONS, name)).config
            await jetstream.delete_consumer(SESSIONS, name)
            later = {"deliver_policy": "by_start_sequence", "opt_start_seq": last}
            await jetstream.add_consumer(SESSIONS, config.evolve(**later))
    await asyncio.to_thread(_insert, place.folder / "parley.db", session_ids, first, len(events))


async def _append(client: Client, events: Recording, session_ids: Sequence[str], first: int) -> None:
    """Wait for the acknowledgement of each chunk's last event only: the broker handles them in order."""
    jetstream = client.jetstream(timeout=60)
    messages = _messages(events, session_ids, first)
    for chunk in batched(messages, APPENDS_PER_ACK):
        for subject, body, headers in chunk[:-1]:
            await client.publish(subject, body, headers=headers)
        subject, body, headers = chunk[-1]
        await jetstream.publish(subject, body, stream=SESSIONS, headers=headers)
    last = (await jetstream.stream_info(SESSIONS)).state.last_seq
    if last != first - 1 + len(events) * len(session_ids):
        raise RuntimeError(f"the log is at {last}: some events are missing")


def _messages(events: Recording, session_ids: Sequence[str], first: int) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    position = first - 1
    for session_id in session_ids:
        after = 0
        for number, line in enumerate(events):
            yield (
                line.subject(session_id),
                line.body_of(session_id),
                guard_headers(session_id, after, f"{session_id}:{number}"),
            )
            position = after = position + 1


def _insert(file: Path, session_ids: Sequence[str], first: int, events: int) -> None:
    """Copy the template session's rows in each table for each new session."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in tables}
        of_sessions = [table for table in tables if "session_id" in columns[table] and table != "parked_messages"]
        ((template_id, began),) = connection.execute(
            "SELECT session_id, min(position) FROM journal GROUP BY session_id ORDER BY 2 LIMIT 1"
        ).fetchall()
        for start in range(0, len(session_ids), SESSIONS_PER_TRANSACTION):
            batch = session_ids[start : start + SESSIONS_PER_TRANSACTION]
            for table in ("sessions", *of_sessions):
                key = "id" if table == "sessions" else "session_id"
                template_rows = connection.execute(f"SELECT * FROM {table} WHERE {key} = ?", (template_id,)).fetchall()
                marks = ", ".join("?" * len(columns[table]))
                offsets = range(first - began + events * start, first - began + events * (start + len(batch)), events)
                rows = _copies(columns[table], template_rows, template_id, zip(batch, offsets, strict=True))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            connection.commit()


def _copies(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], template_id: str, sessions: Iterable[tuple[str, int]]
) -> Iterator[tuple[Any, ...]]:
    """The template's rows for each of these sessions, with positions raised by its offset."""
    for session_id, offset in sessions:
        for row in rows:
            values = {
                name: _with_session_id(value, template_id, session_id) for name, value in zip(columns, row, strict=True)
            }
            if "position" in values:
                values["position"] += offset
            if "snapshot" in values:
                session = SESSION.validate_json(values["snapshot"])
                values["snapshot_digest"] = hashlib.sha256(SESSION.dump_json(session)).hexdigest()[:32]
            yield tuple(values.values())


def _with_session_id(value: Any, template_id: str, session_id: str) -> Any:
    return value.replace(template_id, session_id) if isinstance(value, str) else value
