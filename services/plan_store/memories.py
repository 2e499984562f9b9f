"""What is remembered of each request once it has ended: a row that begins with the request and waits for its end."""

from collections.abc import Iterator

from sqlalchemy import bindparam, func, select, update

from parley.events import SessionEvent, facts
from services.plan_store import tables as t
from services.plan_store.change import Change, Patch, Put
from services.plan_store.words import words
from shared.domain.memory import Memory
from shared.domain.session import Session, put_back
from shared.domain.state import Failure

LONGEST = 2_000  # characters of a request, and of its outcome
LESSON = 500
_MINE = t.memories.c.session_id == bindparam("of_session")
_NEWEST = select(func.max(t.memories.c.position)).where(_MINE).scalar_subquery()
_END = update(t.memories).where(_MINE, t.memories.c.position == _NEWEST)


def remembered(before: Session, event: SessionEvent, after: Session, position: int) -> Iterator[Change]:
    """The row of a request when it begins, and its outcome whenever the session comes to rest.

    A fork begins none: its parent's requests are remembered with the parent. A session that does not want to be told
    of others is not told of to others either.
    """
    if not after.settings.recall:
        return
    rests = after.phase in ("resting", "failed") and not _between(before)
    if begins(before, event):
        yield Put(t.memories, _begun(event, after, position))
    elif rests and _came_to(before) != (outcome := _came_to(after)):
        yield _ended(event, after, outcome)


def begins(before: Session, event: SessionEvent) -> bool:
    """Whether a request begins with it."""
    if isinstance(event, facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned):
        return event.begins_round and before.words.remark is not None
    asked = isinstance(event, facts.MessageReceived) and event.intent == "request"
    return asked or (isinstance(event, facts.QuestionAnswered) and _between(before))


def _between(session: Session) -> bool:
    """One request has ended, none has begun: the person was asked for the next."""
    return session.question is not None and session.question.about == "continue"


def _begun(event: SessionEvent, after: Session, position: int) -> dict[str, object]:
    return {
        "position": position,
        "session_id": after.id,
        "version": event.version,
        "owner": after.owner,
        "request": after.words.request[:LONGEST],
        "outcome": "",
        "lesson": "",
        "search_words": "",
        "at": event.at,
    }


def _ended(event: SessionEvent, after: Session, outcome: str) -> Change:
    request, outcome, lesson = after.words.request[:LONGEST], outcome[:LONGEST], _lesson(after.memory)
    told = {"outcome": outcome, "lesson": lesson, "at": event.at}
    indexed = " ".join(words(f"{request}\n{outcome}\n{lesson}"))
    return Patch(_END, told | {"search_words": indexed, "of_session": after.id})


def _came_to(session: Session) -> str:
    """What the request at hand came to, in words; "" while it is under way. A remark on it is no part of it."""
    session = put_back(session)
    match session.phase:
        case "failed":
            failure = session.failure or Failure("", "", retryable=False)
            return f"failed: {failure.reason}"
        case "resting" if session.rest_reason == "approved":
            return ""
        case "resting" if session.answer.text:
            return f"answered: {session.answer.text}"
        case "resting" if session.plan and session.rest_reason != "stopped":
            made = session.code and session.code.status == "approved"
            return f"{'code approved for the plan' if made else f'plan {session.plan.status}'}: {session.plan.goal}"
        case "resting" if session.rest_reason != "new":
            return session.rest_reason
        case _:
            return ""


def _lesson(memory: Memory) -> str:
    """The last verdict that was no good news."""
    bad = [one for one in memory.verdicts if one.status == "failure" or one.next_action in ("retry", "escalate")]
    return f"{bad[-1].sub_goal}: {bad[-1].reasoning}"[:LESSON] if bad else ""
