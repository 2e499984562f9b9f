"""Records one session of each workload while the real services work on it.

The load generator, the bare NATS workers and the bulk load republish the recorded events, byte for byte except for the
session's id.
"""

import asyncio
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from bench.overhead import processes
from bench.overhead.recorded_events import SESSION_ID_PLACEHOLDER, RecordedEvent, Recording, new_session_ids
from bench.overhead.workloads import Workload
from parley.events import Due, parse_event
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session, review_target, undecided_actions
from shared.domain.rules.decide import AnyCommand
from shared.log import StoredMessage, commit
from shared.testing import InMemoryStore

SESSION_TIMEOUT = 60.0  # seconds that a session may take
ANSWER = "yes"


async def record_sessions(folder: Path, kinds: Sequence[Workload]) -> dict[str, Recording]:
    """Record one session of each workload, by name, on a new server with new services."""
    async with (
        processes.nats_server(folder, sync_always=False) as (place, _),
        processes.running(place, processes.service_programs(place)),
    ):
        return {kind.name: await record_session(place, kind) for kind in kinds}


async def record_session(place: processes.BenchServer, kind: Workload, exchanges: int = 1) -> Recording:
    """Record a session in which the user makes the request `exchanges` times and approves everything."""
    (session_id,) = new_session_ids(1)
    bus = Bus(place.settings, "bench")
    await bus.connect()
    try:
        async with asyncio.timeout(SESSION_TIMEOUT):
            await _exchange(bus, session_id, kind)
            for _ in range(exchanges - 1):
                await _exchange(bus, session_id, kind._replace(workflow=None, settings=None))
            return tuple(_recorded_event(raw) for raw in await bus.log.read(session_id))
    finally:
        await bus.stop()


async def _exchange(bus: Bus, session_id: str, kind: Workload) -> None:
    """Send one request, and approve everything until the session rests."""
    store, stored = InMemoryStore(bus.log), asyncio.Event()

    async def wake(_: str, __: bytes) -> None:
        stored.set()

    feed = await bus.subscribe(f"feed.{session_id}.>", wake)
    command: AnyCommand | None = c.Say(text=kind.request, workflow=kind.workflow, settings=kind.settings)
    while command:
        by = CommandMeta(f"user:{session_id}", datetime.now(UTC), secrets.token_hex(4))
        loaded, _ = await commit(bus.log, await store.load(session_id), command, by)
        while loaded.session.is_working:
            await stored.wait()
            stored.clear()
            loaded = await store.load(session_id)
        command = _next_command(loaded.session)
    await feed.stop()


def _next_command(session: Session) -> AnyCommand | None:
    """The next command of a user who approves everything; None if the session is answered."""
    if session.phase == "awaiting_input":
        return c.Answer(text=ANSWER)
    if session.phase != "awaiting_approval":
        if session.rest_reason != "answered":
            raise RuntimeError(f"The session is {session.phase} ({session.rest_reason}): {session.failure}")
        return None
    if waiting := undecided_actions(session.turn):
        return c.Approve(version=session.version, action_id=waiting[0].spec.id, hash=waiting[0].hash)
    item = session.code if review_target(session) == "code" else session.plan
    assert item
    return c.Approve(version=item.version, hash=item.hash)


def _recorded_event(raw: StoredMessage) -> RecordedEvent:
    _, session_id, due, kind = raw.subject.split(".", 3)
    body = raw.data.replace(session_id.encode(), SESSION_ID_PLACEHOLDER.encode())
    return RecordedEvent(parse_event(body).actor, cast(Due, due), kind, body)
