"""Folding a session's messages from the log."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from parley.events import SessionEvent
from shared.domain.session import Session
from shared.log import Extent, Log, ReplicatedLog, SessionAtPosition, StoredMessage, WholeLog, accept

PAGE = 500
EVERYTHING = 2**62  # beyond every position


class StoreLog(ReplicatedLog, WholeLog, Protocol):
    """What plan_store needs of the log besides appending and reading."""

    async def extent(self) -> Extent: ...
    async def message(self, position: int) -> StoredMessage | None: ...
    async def purge(self, session_id: str) -> None: ...


class Step(NamedTuple):
    """One message folded: the session before and after it, and its event, or why it is none."""

    before: SessionAtPosition
    raw: StoredMessage
    event: SessionEvent | None
    reason: str
    after: SessionAtPosition


def fold_one(loaded: SessionAtPosition, raw: StoredMessage) -> Step:
    """Fold the next message of the session. Raises UpgradeNeeded."""
    after, event, reason = accept(loaded, raw)
    return Step(loaded, raw, event, reason, after)


async def as_it_was(log: Log, session_id: str, version: int) -> SessionAtPosition:
    """The session as its first `version` events left it (fewer, if it has fewer). Raises LogDown, UpgradeNeeded."""
    loaded = SessionAtPosition(Session(session_id), 0)
    async for raw in messages(log, session_id):
        if loaded.session.version == version:
            break
        loaded = accept(loaded, raw)[0]
    return loaded


async def messages(log: Log, session_id: str) -> AsyncIterator[StoredMessage]:
    """All of the session's messages, in order, a page at a time."""
    after = 0
    while page := await log.read(session_id, after=after, limit=PAGE):
        for raw in page:
            yield raw
        after = page[-1].position
