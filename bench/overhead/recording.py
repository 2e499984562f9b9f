"""Records one session of each kind while the real services work on it.

The played person, the bare pipeline and the bulk load publish the recorded events again, byte for byte but for the
session's id.
"""

import asyncio
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from bench.overhead import world
from bench.overhead.kinds import Kind
from bench.overhead.lines import ID, Line, Lines, ids
from parley.events import Due, parse_event
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand
from shared.domain.session import SERVICE_OF, Session, reviewing, undecided
from shared.log import StoredMessage, commit
from shared.testing import InMemoryStore

PATIENCE = 60.0  # seconds that a session may take
ANSWER = "yes"


async def sessions(folder: Path, kinds: Sequence[Kind]) -> dict[str, Lines]:
    """One recorded session of each kind, by its name; a server and services of their own."""
    async with world.server(folder, always=False) as (place, _), world.running(world.services(place)):
        return {kind.name: await recorded(place, kind) for kind in kinds}


async def recorded(place: world.Place, kind: Kind, exchanges: int = 1) -> Lines:
    """The events of one session in which the person makes the request `exchanges` times and agrees to everything."""
    (session_id,) = ids(1)
    bus = Bus(place.settings, "bench")
    await bus.connect()
    try:
        async with asyncio.timeout(PATIENCE):
            await _exchange(bus, session_id, kind)
            for _ in range(exchanges - 1):
                await _exchange(bus, session_id, kind._replace(workflow=None, settings=None))
            return tuple(_line(raw) for raw in await bus.log.read(session_id))
    finally:
        await bus.stop()


async def _exchange(bus: Bus, session_id: str, kind: Kind) -> None:
    """One request, until the session rests."""
    store, stored = InMemoryStore(bus.log), asyncio.Event()

    async def wake(_: str, __: bytes) -> None:
        stored.set()

    feed = await bus.subscribe(f"feed.{session_id}.>", wake)
    command: AnyCommand | None = c.Say(text=kind.request, workflow=kind.workflow, settings=kind.settings)
    while command:
        by = CommandMeta(f"user:{session_id}", datetime.now(UTC), secrets.token_hex(4))
        loaded, _ = await commit(bus.log, await store.load(session_id), command, by)
        while loaded.session.phase in SERVICE_OF:
            await stored.wait()
            stored.clear()
            loaded = await store.load(session_id)
        command = _agreed(loaded.session)
    await feed.stop()


def _agreed(session: Session) -> AnyCommand | None:
    """The next command of a person who agrees to everything; None when nothing is asked of them."""
    if session.phase == "awaiting_input":
        return c.Answer(text=ANSWER)
    if session.phase != "awaiting_approval":
        if session.rest_reason != "answered":
            raise RuntimeError(f"The session is {session.phase} ({session.rest_reason}): {session.failure}")
        return None
    if waiting := undecided(session.turn):
        return c.Approve(version=session.version, action_id=waiting[0].spec.id, hash=waiting[0].hash)
    item = session.code if reviewing(session) == "code" else session.plan
    assert item
    return c.Approve(version=item.version, hash=item.hash)


def _line(raw: StoredMessage) -> Line:
    _, session_id, due, kind = raw.subject.split(".", 3)
    body = raw.data.replace(session_id.encode(), ID.encode())
    return Line(parse_event(body).actor, cast(Due, due), kind, body)
