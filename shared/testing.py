"""In-memory fakes of logs and stores. The contract tests run over both the fakes and the real ones."""

import itertools
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

from parley.events import Due, SessionEvent
from shared import template_log
from shared.domain.kernel.session import Session
from shared.log import (
    MESSAGE_ID,
    Indeterminate,
    LogCount,
    LogExtent,
    SessionAtPosition,
    SessionLog,
    StoredMessage,
    VersionConflict,
    WholeLog,
    accept,
    body_of,
    guard_headers,
    subject_of,
)
from shared.store import StoreUnavailable


class InMemoryLog:
    """A Log in a list. Events are serialised, as on the bus."""

    def __init__(self) -> None:
        self.clustered, self.created = False, "in memory"
        self.messages: list[StoredMessage] = []
        self.faults: list[Exception] = []  # raised by the next appends; Indeterminate("stored") stores first
        self._positions = itertools.count(1)

    def publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        """Publishes a raw message, as any program on the bus could; returns its position."""
        message = StoredMessage(next(self._positions), subject, headers or {}, data, datetime.now(UTC))
        self.messages.append(message)
        return message.position

    def last(self, session_id: str) -> int:
        return max((message.position for message in self._of(session_id)), default=0)

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        body = body_of(event)
        fault = self.faults.pop(0) if self.faults else None
        if fault and str(fault) != "stored":
            raise fault
        if self.last(event.session_id) != after:
            raise VersionConflict(event.session_id)
        headers = guard_headers(event.session_id, after, event.id)
        if any(message.headers.get(MESSAGE_ID) == headers[MESSAGE_ID] for message in self.messages):
            raise Indeterminate("The log knows this id already.")
        position = self.publish(subject_of(event, due), body, headers)
        if fault:
            raise fault
        return position

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return [message for message in self._of(session_id) if message.position > after][:limit]

    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        return [message for message in self.messages if message.position > after][:limit]

    async def extent(self) -> LogExtent:
        if not self.messages:
            return LogExtent(self.created, 1, 0)
        return LogExtent(self.created, self.messages[0].position, self.messages[-1].position)

    async def check_writable(self) -> None:
        """A list stores everything."""

    async def count(self) -> LogCount:
        return LogCount(len(self.messages), datetime.now(UTC))

    async def message(self, position: int) -> StoredMessage | None:
        return next((message for message in self.messages if message.position == position), None)

    async def purge(self, session_id: str) -> None:
        gone = self._of(session_id)
        self.messages = [message for message in self.messages if message not in gone]

    def _of(self, session_id: str) -> Sequence[StoredMessage]:
        return [message for message in self.messages if message.subject.startswith(f"session.{session_id}.")]


class InMemoryTemplateLog:
    """A TemplateLog in a list."""

    def __init__(self) -> None:
        self.messages: list[StoredMessage] = []
        self.faults: list[Exception] = []  # raised by the next appends; Indeterminate("stored") stores first
        self._positions = itertools.count(1)

    async def append(self, template_id: str, body: bytes, *, after: int, last: bool = False) -> int:
        fault = self.faults.pop(0) if self.faults else None
        if fault and str(fault) != "stored":
            raise fault
        subject = template_log.subject_of(template_id)
        mine = [message for message in self.messages if message.subject == subject]
        if (mine[-1].position if mine else 0) != after:
            raise VersionConflict(template_id)
        message = StoredMessage(
            next(self._positions), subject, template_log.expected_headers(after), body, datetime.now(UTC)
        )
        self.messages = [message for message in self.messages if not (last and message in mine)] + [message]
        if fault:
            raise fault
        return message.position

    async def read(self, *, after: int, limit: int = 500) -> list[StoredMessage]:
        return [message for message in self.messages if message.position > after][:limit]


async def session_ids(log: WholeLog) -> list[str]:
    """The ids of all sessions that have messages, sorted."""
    ids: set[str] = set()
    after = 0
    while page := await log.read_all(after=after, limit=1000):
        ids |= {message.subject.split(".")[1] for message in page}
        after = page[-1].position
    return sorted(ids)


class InMemoryStore:
    """Loads sessions by folding a log, without any database."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        loaded = SessionAtPosition(Session(session_id), 0)
        async for loaded, _ in self._fold(session_id):
            if loaded.session.version == version:
                break
        return loaded

    async def states(self, session_id: str) -> list[Session]:
        """The session after each of its messages, oldest first."""
        return [loaded.session async for loaded, _ in self._fold(session_id)]

    async def ask(self, verb: str, **arguments: Any) -> Any:
        """There is no database to ask. Raises StoreUnavailable."""
        raise StoreUnavailable(f"There is no plan store here that could answer {verb}.")

    async def events(self, session_id: str) -> list[SessionEvent]:
        """The session's accepted events, in order."""
        return [event async for _, event in self._fold(session_id) if event]

    async def _fold(self, session_id: str) -> AsyncIterator[tuple[SessionAtPosition, SessionEvent | None]]:
        """Yields the session after each of its messages, and the message's event, if it is one."""
        loaded = SessionAtPosition(Session(session_id), 0)
        while page := await self._log.read(session_id, after=loaded.position):
            for message in page:
                loaded, event, _ = accept(loaded, message)
                yield loaded, event
