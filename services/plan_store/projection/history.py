"""Reads a session's messages from the log and folds them."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from parley.events import SessionEvent
from shared.domain.session import Session
from shared.log import (
    LogExtent,
    SessionAtPosition,
    SessionLog,
    StoredMessage,
    TimedLog,
    WholeLog,
    accept,
)

PAGE = 500
END_OF_LOG = 2**62  # greater than any position


class StoreLog(TimedLog, WholeLog, Protocol):
    """The log with the operations that only plan_store needs."""

    async def extent(self) -> LogExtent: ...
    async def message(self, position: int) -> StoredMessage | None: ...
    async def purge(self, session_id: str) -> None: ...


class FoldedMessage(NamedTuple):
    """A message with the session before and after it, and its event, or the reason why it is not an event."""

    before: SessionAtPosition
    raw: StoredMessage
    event: SessionEvent | None
    reason: str
    after: SessionAtPosition


def fold_message(loaded: SessionAtPosition, raw: StoredMessage) -> FoldedMessage:
    """Fold the next message of the session. Raises UpgradeNeeded."""
    after, event, reason = accept(loaded, raw)
    return FoldedMessage(loaded, raw, event, reason, after)


async def session_at_version(log: SessionLog, session_id: str, version: int) -> SessionAtPosition:
    """The session after its first `version` events, or all if it has fewer. Raises LogUnavailable, UpgradeNeeded."""
    loaded = SessionAtPosition(Session(session_id), 0)
    async for raw in messages(log, session_id):
        if loaded.session.version == version:
            break
        loaded = accept(loaded, raw)[0]
    return loaded


async def messages(log: SessionLog, session_id: str) -> AsyncIterator[StoredMessage]:
    """All of the session's messages in order, read in pages. Raises LogUnavailable."""
    after = 0
    while page := await log.read(session_id, after=after, limit=PAGE):
        for raw in page:
            yield raw
        after = page[-1].position
