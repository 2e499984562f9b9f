"""The messages of protocol 2: a session's snapshot, what an event adds and changes, and drafts. Pure."""

from parley.events import SessionEvent, facts
from parley.protocol import screen as v
from parley.protocol import server as v1
from services.gateway.views import asks
from services.gateway.views.can import accepted
from services.gateway.views.entries import entries
from services.gateway.views.sections import changed, whole
from shared.domain.session import Session

# These tell what was being written, or that nobody writes it any more.
ENDS_DRAFT = (
    facts.PlanDrafted
    | facts.PlanEdited
    | facts.CodeDrafted
    | facts.CodeEdited
    | facts.CodeVerified
    | facts.TurnPlanned
    | facts.TurnRequested
    | facts.TurnChanged
    | facts.TurnVerified
    | facts.ActionsFinished
    | facts.ActionUncertain
    | facts.AnswerGiven
    | facts.QuestionAsked
    | facts.RemarkAnswered
    | facts.SessionStopped
    | facts.SessionFailed
)
READ_ONLY = ("fork",)  # what somebody may do who may only look


def snapshot(session: Session, draft: v1.Delta | None = None, *, writes: bool = True) -> v.ScreenSnapshot:
    """Where things stand. `writes`: the reader may act in this session."""
    return v.ScreenSnapshot(
        session_id=session.id,
        version=session.version,
        view=whole(session),
        can=can(session, writes=writes),
        draft=delta(draft) if draft and session.work else None,
    )


def happened(before: Session, event: SessionEvent, after: Session, *, writes: bool = True) -> v.ScreenEvent:
    """One event to somebody who has seen all before it."""
    return v.ScreenEvent(
        session_id=after.id,
        version=event.version,
        event=event,
        entries=entries(event),
        changed=changed(before, after),
        can=can(after, writes=writes),
        ends_draft=isinstance(event, ENDS_DRAFT),
    )


def told_again(event: SessionEvent) -> v.ScreenEvent:
    """An event from history, for somebody who has the snapshot that came after it."""
    return v.ScreenEvent(
        session_id=event.session_id, version=event.version, event=event, entries=entries(event), changed={}, can=None
    )


def can(session: Session, *, writes: bool) -> tuple[str, ...]:
    """The client messages that this reader would see carried out now, and that are of use to them.

    What is in review runs nothing: it is discarded, not stopped.
    """
    reviewed = session.work is None and (asks.review(session) or asks.feedback(session))
    allowed = tuple(one for one in accepted(session) if not (reviewed and one == "stop"))
    return allowed if writes else tuple(one for one in allowed if one in READ_ONLY)


def delta(told: v1.Delta) -> v.ScreenDelta:
    """A draft's piece with the version of the work that it belongs to, which its id begins with."""
    work, _, _ = told.draft_id.partition("-")
    return v.ScreenDelta(**told.model_dump(exclude={"type"}), work=int(work) if work.isdecimal() else 0)
