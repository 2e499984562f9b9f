"""Protocol 2: snapshots, event messages, and drafts. Pure."""

from parley.events import SessionEvent, facts
from parley.protocol import screen as v
from parley.protocol import server as v1
from services.gateway.views import input_sections
from services.gateway.views.allowed_messages import allowed_messages
from services.gateway.views.sections import changed_sections, full_view
from shared.domain.kernel.session import Session
from shared.domain.rules.permissions import SessionRole
from shared.journal.entries import entries

# Events that contain what was being drafted, or that end the drafting.
DRAFT_ENDING_EVENTS = (
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
    | facts.OfferMade
    | facts.SessionStopped
    | facts.SessionFailed
)


def snapshot(
    session: Session, draft: v1.Delta | None = None, *, role: SessionRole | None = "owner"
) -> v.ScreenSnapshot:
    """The snapshot for a user with this role in the session."""
    return v.ScreenSnapshot(
        session_id=session.id,
        version=session.version,
        view=full_view(session),
        can=allowed_for(session, role),
        draft=delta(draft) if draft and session.works else None,
    )


def event_message(
    before: Session, event: SessionEvent, after: Session, *, role: SessionRole | None = "owner"
) -> v.ScreenEvent:
    """An event, for clients that have every earlier event."""
    content = {
        "changed": changed_sections(before, after),
        "can": allowed_for(after, role),
        "ends_draft": isinstance(event, DRAFT_ENDING_EVENTS),
    }
    return history_message(event).model_copy(update=content)


def history_message(event: SessionEvent) -> v.ScreenEvent:
    """A past event, for clients that have a newer snapshot."""
    return v.ScreenEvent(
        session_id=event.session_id,
        version=event.version,
        event_id=event.id,
        at=event.at,
        entries=entries(event),
        changed={},
        can=None,
    )


def allowed_for(session: Session, role: SessionRole | None = "owner") -> tuple[str, ...]:
    """The client messages that this client can usefully send now.

    `stop` is left out during a review: nothing runs, and the plan or code can be discarded.
    """
    reviewed = not session.works and (input_sections.review(session) or input_sections.feedback(session))
    return tuple(kind for kind in allowed_messages(session, role) if not (reviewed and kind == "stop"))


def delta(draft: v1.Delta) -> v.ScreenDelta:
    """A piece of a draft, with the version of its work."""
    return v.ScreenDelta(**draft.model_dump(exclude={"type"}), work=work_version(draft))


def work_version(draft: v1.Delta) -> int:
    """The version of the draft's work, which its id begins with; 0 if it does not."""
    work, _, _ = draft.draft_id.partition("-")
    return int(work) if work.isdecimal() else 0
