"""A session as it lies in its row, and back: the folded state with the times that belong to it."""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import ValidationError
from sqlalchemy import RowMapping

from services.plan_store.history import Step
from shared.domain.expiry import expires
from shared.domain.plan_steps import held_up
from shared.domain.session import SESSION, Session
from shared.domain.state_names import state_name
from shared.domain.waiting import wakes_at
from shared.log import SessionAtPosition

SEARCHED = 20_000  # characters of a session that a search looks at
LONGEST = 10 * 365 * 24 * 3600  # seconds: a time-out beyond that is none


class Times(NamedTuple):
    """By the log's clock, so that a rebuild finds the same ones."""

    created_at: datetime
    updated_at: datetime
    phase_began_at: datetime  # or what is in review came there
    work_since: datetime | None


class Folded(NamedTuple):
    """What is known of a session up to its position. `times` None: it has no row yet."""

    loaded: SessionAtPosition
    times: Times | None = None
    digest: str = ""
    size: int = 0  # bytes of the sealed session's JSON

    @property
    def session(self) -> Session:
        return self.loaded.session

    @property
    def position(self) -> int:
        return self.loaded.position

    @property
    def expires_at(self) -> datetime | None:
        """When the approval that is asked for now, or the answer to a step's question, is given up."""
        timeout = self.session.settings.approval_timeout
        if self.times is None or not expires(self.session) or timeout is None or timeout > LONGEST:
            return None
        return self.times.phase_began_at + timedelta(seconds=timeout)

    @property
    def wakes_at(self) -> datetime | None:
        """When the first step that waits for a time, or polls, is due."""
        return wakes_at(self.session)


def unknown(session_id: str) -> Folded:
    return Folded(SessionAtPosition(Session(session_id), 0))


def moved(known: Folded, step: Step) -> Folded:
    """`known` after one more message. Its digest is that of the old row until `sealed`."""
    at, old = step.raw.at, known.times if known.position else None
    session = step.after.session
    if step.event is None:
        return Folded(step.after, old or Times(at, at, at, None), known.digest)
    first = step.before.session.version == 0
    times = Times(
        created_at=at if old is None or first else old.created_at,
        updated_at=at,
        phase_began_at=at if old is None or first or session.since_version == session.version else old.phase_began_at,
        work_since=_work_since(step, old),
    )
    return Folded(step.after, times, known.digest)


def _work_since(step: Step, old: Times | None) -> datetime | None:
    work = step.after.session.work
    if work is None:
        return None
    return old.work_since if old and step.before.session.work == work else step.raw.at


def sealed(folded: Folded) -> Folded:
    """The same with the digest of its own session."""
    body = SESSION.dump_json(folded.session)
    return folded._replace(digest=_digest(body), size=len(body))


def size_of(folded: Folded) -> int:
    """Bytes, of a sealed session."""
    return folded.size


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:32]


def searched(session: Session) -> Iterator[str]:
    """The words that a session is found by, those first that a person would look for."""
    words, plan = session.words, session.plan
    yield from (session.title, words.request)
    yield from (earlier.request for earlier in reversed(words.earlier))
    yield from (*words.feedback, *words.feedback_in_code, *words.unread)
    yield from (text for said in words.dialogue for text in (said.question, said.answer))
    if plan:
        yield from (plan.goal, *(step.text for step in plan.steps), plan.notes)
    yield from (words.reply, session.answer.text)
    yield from (earlier.outcome for earlier in reversed(words.earlier))


def row(folded: Folded) -> dict[str, Any]:
    """The row of `sessions` of a sealed session."""
    session, times = folded.session, folded.times
    assert times is not None  # noqa: S101  whoever stores has folded at least one message
    return {
        "id": session.id,
        "position": folded.position,
        "version": session.version,
        "snapshot_digest": folded.digest,
        "owner": session.owner,
        "title": session.title,
        "request": session.words.request,
        "search_text": "\n".join(searched(session))[:SEARCHED].casefold(),
        "workflow": session.workflow,
        "phase": session.phase,
        "state": state_name(session),
        "paused": session.paused,
        "rest_reason": session.rest_reason,
        "unfinished": held_up(session),
        "work_service": session.work.service if session.work else None,
        "work_version": session.work.version if session.work else None,
        "work_since": times.work_since,
        "phase_began_at": times.phase_began_at,
        "approval_expires_at": folded.expires_at,
        "wakes_at": folded.wakes_at,
        "parent_id": session.parent_id,
        "created_at": times.created_at,
        "updated_at": times.updated_at,
        "snapshot": SESSION.dump_python(session, mode="json"),
    }


def from_row(found: RowMapping) -> Folded | None:
    """The session in a whole row; None where it does not have its digest.

    Another version of Parley may have written it: a session of another shape would be read with fields missing.
    """
    try:
        session = SESSION.validate_python(found["snapshot"])
    except ValidationError:
        return None
    body = SESSION.dump_json(session)
    if found["position"] and _digest(body) != found["snapshot_digest"]:
        return None
    return Folded(SessionAtPosition(session, found["position"]), times(found), found["snapshot_digest"], len(body))


def times(found: RowMapping) -> Times:
    return Times(found["created_at"], found["updated_at"], found["phase_began_at"], found["work_since"])
