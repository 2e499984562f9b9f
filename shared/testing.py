"""Fakes that keep the promises of the real things: the contract suites run over both."""

import itertools
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

from parley.events import Due, SessionEvent
from shared import library_log
from shared.domain.session import Session
from shared.log import (
    MESSAGE_ID,
    Extent,
    Indeterminate,
    Log,
    SessionAtPosition,
    StoredMessage,
    VersionConflict,
    WholeLog,
    accept,
    body_of,
    guard,
    subject_of,
)
from shared.store import StoreDown


class InMemoryLog:
    """A Log in a list. Every event goes through its JSON, as it would on the bus."""

    def __init__(self) -> None:
        self.clustered, self.created = False, "in memory"
        self.messages: list[StoredMessage] = []
        self.faults: list[Exception] = []  # raised by the next appends; Unsure("stored") stores first
        self._positions = itertools.count(1)

    def publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        """A raw message, as any program on the bus could send it."""
        raw = StoredMessage(next(self._positions), subject, headers or {}, data, datetime.now(UTC))
        self.messages.append(raw)
        return raw.position

    def last(self, session_id: str) -> int:
        return max((raw.position for raw in self._of(session_id)), default=0)

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        body = body_of(event)
        fault = self.faults.pop(0) if self.faults else None
        if fault and str(fault) != "stored":
            raise fault
        if self.last(event.session_id) != after:
            raise VersionConflict(event.session_id)
        headers = guard(event.session_id, after, event.id)
        if any(raw.headers.get(MESSAGE_ID) == headers[MESSAGE_ID] for raw in self.messages):
            raise Indeterminate("The log knows this id already.")
        position = self.publish(subject_of(event, due), body, headers)
        if fault:
            raise fault
        return position

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return [raw for raw in self._of(session_id) if raw.position > after][:limit]

    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        return [raw for raw in self.messages if raw.position > after][:limit]

    async def extent(self) -> Extent:
        if not self.messages:
            return Extent(self.created, 1, 0)
        return Extent(self.created, self.messages[0].position, self.messages[-1].position)

    async def message(self, position: int) -> StoredMessage | None:
        return next((raw for raw in self.messages if raw.position == position), None)

    async def purge(self, session_id: str) -> None:
        gone = self._of(session_id)
        self.messages = [raw for raw in self.messages if raw not in gone]

    def _of(self, session_id: str) -> Sequence[StoredMessage]:
        return [raw for raw in self.messages if raw.subject.startswith(f"session.{session_id}.")]


class InMemoryLibrary:
    """A LibraryLog in a list."""

    def __init__(self) -> None:
        self.messages: list[StoredMessage] = []
        self.faults: list[Exception] = []  # raised by the next appends; Unsure("stored") stores first
        self._positions = itertools.count(1)

    async def append(self, template_id: str, body: bytes, *, after: int, last: bool = False) -> StoredMessage:
        fault = self.faults.pop(0) if self.faults else None
        if fault and str(fault) != "stored":
            raise fault
        subject = library_log.subject_of(template_id)
        mine = [raw for raw in self.messages if raw.subject == subject]
        if (mine[-1].position if mine else 0) != after:
            raise VersionConflict(template_id)
        raw = StoredMessage(next(self._positions), subject, library_log.expected(after), body, datetime.now(UTC))
        self.messages = [one for one in self.messages if not (last and one in mine)] + [raw]
        if fault:
            raise fault
        return raw

    async def read(self, *, after: int, limit: int = 500) -> list[StoredMessage]:
        return [raw for raw in self.messages if raw.position > after][:limit]


async def session_ids(log: WholeLog) -> list[str]:
    """Every session that has messages, in order of their ids."""
    found: set[str] = set()
    after = 0
    while page := await log.read_all(after=after, limit=1000):
        found |= {raw.subject.split(".")[1] for raw in page}
        after = page[-1].position
    return sorted(found)


class InMemoryStore:
    """Loads sessions by folding a log, without any database."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        loaded = SessionAtPosition(Session(session_id), 0)
        async for loaded, _ in self._history(session_id):
            if loaded.session.version == version:
                break
        return loaded

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """Without a database there is nothing else to ask for. Raises StoreDown."""
        raise StoreDown(f"There is no plan store here that could answer {verb}.")

    async def events(self, session_id: str) -> list[SessionEvent]:
        """The session's accepted events, in order."""
        return [event async for _, event in self._history(session_id) if event]

    async def _history(self, session_id: str) -> AsyncIterator[tuple[SessionAtPosition, SessionEvent | None]]:
        """The session after each of its messages, and the event that the message was, if it was one."""
        loaded = SessionAtPosition(Session(session_id), 0)
        while page := await self._log.read(session_id, after=loaded.position):
            for raw in page:
                loaded, event, _ = accept(loaded, raw)
                yield loaded, event
