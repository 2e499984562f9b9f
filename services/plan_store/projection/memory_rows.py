"""The row changes of memories: one row per request, which gets its outcome when the request ends."""

from collections.abc import Iterator

from sqlalchemy import bindparam, func, select, update

from parley.events import SessionEvent, facts
from services.plan_store import tables as t
from services.plan_store.projection.row_changes import RowChange, RowUpdate, Upsert
from shared.domain.memory import Memory
from shared.domain.session import Session
from shared.domain.state import Failure
from shared.domain.subjects import memory_subject
from shared.text import tokenize

MAX_TEXT = 2_000  # characters of a request, and of its outcome
MAX_LESSON = 500
_MINE = t.memories.c.session_id == bindparam("of_session")
_NEWEST = select(func.max(t.memories.c.position)).where(_MINE).scalar_subquery()
_END = update(t.memories).where(_MINE, t.memories.c.position == _NEWEST)
_OF_NOBODY = tuple(
    update(table).where(table.c.session_id == bindparam("of_session")) for table in (t.memories, t.library)
)


def memory_changes(before: Session, event: SessionEvent, after: Session, position: int) -> Iterator[RowChange]:
    """Insert a row when a request begins, and update its outcome whenever the session comes to rest.

    A fork inserts none for its parent's requests. A session that has turned recall off is not recalled by others.
    Once a session turns out to be about several subjects, no row of it is recalled for one of them any more.
    """
    if after.subjects == "several" != before.subjects:
        for statement in _OF_NOBODY:
            yield RowUpdate(statement, {"subject": None, "of_session": after.id})
    if not after.settings.recall:
        return
    has_ended = after.phase in ("resting", "failed") and not _awaits_next_request(before)
    if begins_request(before, event):
        yield Upsert(t.memories, _new_memory(event, after, position))
        return
    if (subject := memory_subject(after)) != memory_subject(before):
        yield RowUpdate(_END, {"subject": subject, "of_session": after.id})
    if has_ended and _outcome(before) != (outcome := _outcome(after)):
        yield _outcome_update(event, after, outcome)


def begins_request(before: Session, event: SessionEvent) -> bool:
    """Whether the event begins a request."""
    if isinstance(event, facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned):
        return event.begins_round
    is_request = isinstance(event, facts.MessageReceived) and event.intent == "request"
    return is_request or (isinstance(event, facts.QuestionAnswered) and _awaits_next_request(before))


def _awaits_next_request(session: Session) -> bool:
    """Whether one request has ended and the next has not begun: the user was asked how to continue."""
    return session.question is not None and session.question.about == "continue"


def _new_memory(event: SessionEvent, after: Session, position: int) -> dict[str, object]:
    return {
        "position": position,
        "session_id": after.id,
        "version": event.version,
        "owner": after.owner,
        "request": after.words.request[:MAX_TEXT],
        "outcome": "",
        "lesson": "",
        "search_words": "",
        "at": event.at,
        "subject": memory_subject(after),
    }


def _outcome_update(event: SessionEvent, after: Session, outcome: str) -> RowChange:
    request, outcome, lesson = after.words.request[:MAX_TEXT], outcome[:MAX_TEXT], _lesson(after.memory)
    columns = {"outcome": outcome, "lesson": lesson, "at": event.at}
    search_words = " ".join(tokenize(f"{request}\n{outcome}\n{lesson}"))
    return RowUpdate(_END, columns | {"search_words": search_words, "of_session": after.id})


def _outcome(session: Session) -> str:
    """The outcome of the current request in words; "" while it is under way."""
    match session.phase:
        case "failed":
            failure = session.failure or Failure("", "", retryable=False)
            return f"failed: {failure.reason}"
        case "resting" if session.rest_reason == "approved":
            return ""
        case "resting" if session.answer.text:
            return f"answered: {session.answer.text}"
        case "resting" if session.plan and session.rest_reason != "stopped":
            has_code = session.code and session.code.status == "approved"
            return f"{'code approved for the plan' if has_code else f'plan {session.plan.status}'}: {session.plan.goal}"
        case "resting" if session.rest_reason != "new":
            return session.rest_reason
        case _:
            return ""


def _lesson(memory: Memory) -> str:
    """The last verdict that was a failure, or asked for a retry or an escalation."""
    bad = [
        verdict
        for verdict in memory.verdicts
        if verdict.status == "failure" or verdict.next_action in ("retry", "escalate")
    ]
    return f"{bad[-1].sub_goal}: {bad[-1].reasoning}"[:MAX_LESSON] if bad else ""
