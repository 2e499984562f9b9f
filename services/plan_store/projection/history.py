"""Reads a session's messages from the log and folds them, and writes the fold as a row of `sessions` and back."""

import hashlib
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError
from sqlalchemy import RowMapping

from parley.events import SessionEvent
from shared.domain.kernel.commands import Work
from shared.domain.kernel.session import SESSION, Session
from shared.domain.kernel.state_names import shown_state
from shared.domain.rules.expiry import expires
from shared.domain.steps.plan_steps import is_held_up
from shared.domain.steps.waiting_steps import next_wake
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
MAX_SEARCH_TEXT = 20_000  # characters of a session that a search can find
MAX_TIMEOUT = 10 * 365 * 24 * 3600  # seconds: a longer timeout counts as none, as its date could be out of range


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


class SessionTimes(NamedTuple):
    """Times by the log's clock, so that a rebuild produces the same ones."""

    created_at: datetime
    updated_at: datetime
    phase_began_at: datetime  # of the phase, or of the current review
    work_since: datetime | None  # when the event that began the current work was stored
    reply_since: datetime | None  # when the message that is to be answered was stored


class ProjectedSession(NamedTuple):
    """A session folded up to a position. `times` is None before its first message."""

    loaded: SessionAtPosition
    times: SessionTimes | None = None
    digest: str = ""
    size: int = 0  # bytes of the session's JSON; 0 until `with_digest` or `from_row` sets it

    @property
    def session(self) -> Session:
        return self.loaded.session

    @property
    def position(self) -> int:
        return self.loaded.position

    @property
    def expires_at(self) -> datetime | None:
        """When the pending approval, or a step's question, expires; None if it does not."""
        timeout = self.session.settings.approval_timeout
        if self.times is None or not expires(self.session) or timeout is None or timeout > MAX_TIMEOUT:
            return None
        return self.times.phase_began_at + timedelta(seconds=timeout)

    @property
    def wakes_at(self) -> datetime | None:
        """When the first waiting or polling step is due."""
        return next_wake(self.session)


def empty_session(session_id: str) -> ProjectedSession:
    return ProjectedSession(SessionAtPosition(Session(session_id), 0))


def project_message(before: ProjectedSession, folded: FoldedMessage) -> ProjectedSession:
    """The session after one more message, with the digest of the row that its next write replaces."""
    at, old = folded.raw.at, before.times if before.position else None
    session = folded.after.session
    if folded.event is None:  # a message that readers skip: it only moves the position
        return ProjectedSession(folded.after, old or SessionTimes(at, at, at, None, None), before.digest)
    was = folded.before.session
    is_first_event = was.version == 0
    times = SessionTimes(
        created_at=at if old is None or is_first_event else old.created_at,
        updated_at=at,
        phase_began_at=at
        if old is None or is_first_event or session.since_version == session.version
        else old.phase_began_at,
        work_since=_since(was.work, session.work, old and old.work_since, at),
        reply_since=_since(was.reply, session.reply, old and old.reply_since, at),
    )
    return ProjectedSession(folded.after, times, before.digest)


def _since(before: Work | None, after: Work | None, since: datetime | None, now: datetime) -> datetime | None:
    """When the work after an event was begun: `since`, if it is the work before."""
    if after is None:
        return None
    return since if since and before == after else now


def with_digest(projected: ProjectedSession) -> ProjectedSession:
    """The same session with its own digest and size."""
    body = SESSION.dump_json(projected.session)
    return projected._replace(digest=_digest(body), size=len(body))


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def search_texts(session: Session) -> Iterator[str]:
    """The texts that a search finds a session by, the most likely search terms first."""
    plan, said = session.plan, [entry for entry in reversed(session.transcript) if entry.kind != "run"]
    yield from (session.title, session.words.request)
    yield from (entry.text for entry in said if entry.by == "person")
    if plan:
        yield from (plan.goal, *(step.text for step in plan.steps), plan.notes)
    yield from (session.words.reply, session.answer.text)
    yield from (entry.text for entry in said if entry.by != "person")


def row(projected: ProjectedSession) -> dict[str, Any]:
    """The row of `sessions`, for a session with its digest."""
    session, times = projected.session, projected.times
    work, reply = session.work, session.reply
    assert times is not None  # noqa: S101  a session that is stored has at least one message
    return {
        "id": session.id,
        "position": projected.position,
        "version": session.version,
        "snapshot_digest": projected.digest,
        "owner": session.owner,
        "title": session.title,
        "request": session.words.request,
        "search_text": "\n".join(search_texts(session)).casefold()[:MAX_SEARCH_TEXT],
        "workflow": session.workflow,
        "phase": session.phase,
        "state": shown_state(session),
        "paused": session.paused,
        "rest_reason": session.rest_reason,
        "unfinished": is_held_up(session),
        "work_service": work.service if work else None,
        "work_version": work.version if work else None,
        "work_since": times.work_since,
        "reply_service": reply.service if reply else None,
        "reply_version": reply.version if reply else None,
        "reply_since": times.reply_since,
        "phase_began_at": times.phase_began_at,
        "approval_expires_at": projected.expires_at,
        "wakes_at": projected.wakes_at,
        "parent_id": session.parent_id,
        "created_at": times.created_at,
        "updated_at": times.updated_at,
        "snapshot": SESSION.dump_python(session, mode="json"),
    }


def from_row(stored: RowMapping) -> ProjectedSession | None:
    """The session in a row with all columns; None if this release cannot read it without losing fields.

    Another release may have written the row. Its digest tells: the session is dumped again and must give the same one.
    """
    try:
        session = SESSION.validate_python(stored["snapshot"])
    except ValidationError:
        return None
    body = SESSION.dump_json(session)
    if stored["position"] and _digest(body) != stored["snapshot_digest"]:
        return None
    return ProjectedSession(
        SessionAtPosition(session, stored["position"]), times_of(stored), stored["snapshot_digest"], len(body)
    )


def times_of(stored: RowMapping) -> SessionTimes:
    return SessionTimes(*(stored[name] for name in SessionTimes._fields))
