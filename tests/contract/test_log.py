"""One suite over both logs: what the in-memory one promises, a real JetStream keeps, whatever happens on the way."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import NamedTuple

import pytest

from cli.nats_server import NatsServer
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.errors import AlreadyDone, Stale
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.events import Due, SessionEvent, dump_event
from shared.events.values import Knowledge, Step
from shared.log import (
    EXPECTED,
    EXPECTED_SUBJECT,
    MESSAGE_ID,
    Loaded,
    LogDown,
    LostRace,
    NeedsParent,
    Raw,
    TooLarge,
    Unsure,
    accept,
    commit,
    fork,
    guard,
    subject_of,
)
from shared.testing import InMemoryLog, InMemoryStore
from tests.conftest import person

Headers = dict[str, str]


class Rig(NamedTuple):
    """A log, a way to put a raw message on its subjects, and a reader that shares nothing with the writers."""

    log: "InMemoryLog"  # or a JetStreamLog: the suite uses what both have
    publish: Callable[[str, bytes, Headers | None], Awaitable[None]]

    async def load(self, session_id: str) -> Loaded:
        return await InMemoryStore(self.log).load(session_id)

    async def does(self, session_id: str, command: AnyCommand, by: By | None = None) -> SessionEvent:
        return (await commit(self.log, await self.load(session_id), command, by or person()))[1]

    async def events(self, session_id: str) -> list[SessionEvent]:
        return await InMemoryStore(self.log).events(session_id)


@pytest.fixture(params=["memory", "jetstream"])
async def rig(request: pytest.FixtureRequest) -> Rig:
    if request.param == "memory":
        log = InMemoryLog()

        async def noted(subject: str, data: bytes, headers: Headers | None = None) -> None:
            log.publish(subject, data, headers)

        return Rig(log, noted)
    real = Bus(request.getfixturevalue("real_settings"), "test")
    await real.connect()
    request.node.buses.append(real)

    async def stored(subject: str, data: bytes, headers: Headers | None = None) -> None:
        await real.client.jetstream().publish(subject, data, headers=headers, timeout=5)

    return Rig(real.log, stored)  # type: ignore[arg-type]
