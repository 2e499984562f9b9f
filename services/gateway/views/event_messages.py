"""Protocol 1: the messages about one event. Pure."""

from parley.events import SessionEvent, facts
from parley.protocol import server as s
from parley.protocol.words import NOTES
from services.gateway.views import messages
from services.gateway.views.execution_plan import progress_text
from services.gateway.views.notes import offer_text
from services.gateway.views.view_parts import failure_view
from shared.domain.batches import find_action
from shared.domain.fast_replace import replace
from shared.domain.session import Session
from shared.domain.state import Action

CHANGES_OF_WAITING_ACTIONS = (
    facts.ApprovalGiven | facts.ApprovalDenied | facts.ActionSkipped | facts.TurnChanged | facts.TurnPlanned
)


def messages_for(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """The messages about one event: the event itself, then its outcome, then requests to the person."""
    as_stored = s.EventMessage(session_id=after.id, version=event.version, event=event)
    usage = (messages.usage(after),) if event.usage or isinstance(event, facts.BudgetRaised) else ()
    return (as_stored, *usage, *_outcome_messages(before, event, after), *_request_messages(before, event, after))


def _outcome_messages(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """Messages about what has ended with this event."""
    match event:
        case facts.UsageRecorded() | facts.BudgetRaised():
            return ()
        case facts.AnswerGiven():
            fields = {"text": event.text, "confidence": event.confidence, "evidence": event.evidence}
            return (s.Answer(session_id=after.id, version=event.version, **fields),)
        case facts.SessionCompleted():
            text = "Completed. A new message goes on from here."
            return (s.Completed(session_id=after.id, version=event.version, content=text),)
        case facts.SessionStopped() | facts.PlanCancelled() | facts.PlanDeleted() | facts.ApprovalExpired():
            stopped = s.Stopped(session_id=after.id, version=event.version, message=_stop_text(event, after))
            over = isinstance(event, facts.PlanCancelled) and after.phase == "resting"
            return (stopped,) if over or _rests_because(after, "stopped") else ()
        case facts.SessionFailed():
            failure = failure_view(after)
            message = f"Failed while {event.phase}: {event.reason}" + (
                " Retry does it again." if event.retryable else ""
            )
            failed = failure and s.StageFailed(
                session_id=after.id, version=event.version, failure=failure, message=message
            )
            return (failed,) if failed else ()
    texts = (_escalation_text(before, event, after), _late_outcome_text(event, after), _said_text(event, after))
    text = next(filter(None, texts), "") or _notice_text(event, after)
    log = s.Log(session_id=after.id, version=event.version, content=text) if text else None
    finished = _rests_because(after, "answered") and before.phase != "resting"
    return (log,) if log else (messages.completion(after),) if finished else ()


def _request_messages(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """Requests to the person that are new with this event, or that still wait when a message is answered."""
    if isinstance(event, facts.OfferMade):
        choice = messages.continue_(after)
        return (choice,) if choice else ()
    is_replied = isinstance(event, facts.OfferKept) or (before.reply is not None and after.reply is None)
    if is_replied:
        before = replace(before, phase="planning", question=None)
    requests: list[s.ServerMessage | None] = []
    if isinstance(event, facts.RemarkAnswered) or (
        before.phase != "resting" and (is_replied or after.rest_reason in ("answered", "approved"))
    ):
        requests.append(messages.continue_(after))
    if (review := messages.review_with_say(after)) and (
        before.phase != "awaiting_approval" or _review_content(before) != _review_content(after)
    ):
        requests.append(review)
    if before.phase != "awaiting_input" and not after.question:
        requests.append(messages.feedback_request(after))
    if before.question != after.question or before.phase != "awaiting_input":
        requests.append(messages.question(after))
    if isinstance(event, CHANGES_OF_WAITING_ACTIONS) or before.phase != after.phase:
        requests.append(messages.approval_request(after))
    return tuple(message for message in requests if message is not None)


def _review_content(session: Session) -> tuple[int, int, int]:
    """What a review shows: the versions of plan and code, and the number of the code's checks."""
    code = session.code
    return session.plan.version if session.plan else 0, code.version if code else 0, len(code.checks) if code else 0


def _rests_because(session: Session, reason: str) -> bool:
    return session.phase == "resting" and session.rest_reason == reason


def _escalation_text(before: Session, event: SessionEvent, after: Session) -> str:
    """Why a person must act, if this event escalated the session."""
    if after.phase != "escalated" or before.phase == "escalated":
        return ""
    if before.turn and before.turn.taken_over:
        return "Your turn is over. Act again, or hand the session back with a word about it."
    match event:
        case facts.TurnVerified():
            return f"A person must take over: {event.reasoning or 'the verifier says so.'}"
        case _:
            return "A person must take over."


def _said_text(event: SessionEvent, after: Session) -> str:
    """What a service said to the person, unless the review says it."""
    match event:
        case facts.RemarkAnswered():
            return event.text
        case facts.OfferMade():
            return offer_text(event)
        case facts.TurnPlanned():
            return event.say
        case facts.PlanDrafted() if messages.review(after) is None:
            return event.say
        case _:
            return ""


def _notice_text(event: SessionEvent, after: Session) -> str:
    match event:
        case facts.OfferKept():
            return f"{NOTES['offer_kept'].capitalize()}."
        case facts.SessionPaused():
            return "Paused: the present step may end, no other begins."
        case facts.SessionResumed():
            return "The session goes on."
        case facts.MessageReceived(intent="guidance"):
            steps = after.turn is not None and after.turn.rules.by_step
            when = (
                "answered before the next step of the plan begins"
                if steps
                else "taken in before the next draft is shown"
            )
            return f"Noted: it is {when}."
        case facts.AnswerJudged(accepted=True):
            library_note = " It is kept in your library." if event.saved else ""
            return f"Accepted: its path is an example for similar requests.{library_note}"
        case _:
            return ""


def _stop_text(event: SessionEvent, after: Session) -> str:
    match event:
        case facts.PlanCancelled():
            return f"The plan was cancelled. {progress_text(after)}".rstrip()
        case facts.PlanDeleted():
            return "The plan was deleted; the journal keeps its history."
        case facts.ApprovalExpired():
            return "Nobody decided in time. Retry shows it again."
        case _:
            tools = [action.spec.tool for action in _running_writes(after)]
            return f"Stopped. {', '.join(tools)} had begun and is not cut off." if tools else "Stopped."


def _running_writes(session: Session) -> list[Action]:
    """Writes that are still running."""
    actions = session.turn.actions if session.turn else ()
    return [action for action in actions if action.status == "started" and action.spec.effect != "read"]


def _late_outcome_text(event: SessionEvent, after: Session) -> str:
    """The outcome of a write that was running when the user stopped the session."""
    if not _rests_because(after, "stopped"):
        return ""
    match event:
        case facts.ActionsFinished():
            ended = ((find_action(after, outcome.action_id), outcome.ok) for outcome in event.outcomes)
            return " ".join(
                f"{action.spec.tool} {'took effect' if ok else 'failed'} after the stop."
                for action, ok in ended
                if action and action.spec.effect != "read"
            )
        case facts.ActionUncertain() if (
            action := find_action(after, event.action_id)
        ) and action.spec.effect != "read":
            return f"Nobody can tell whether {action.spec.tool} took effect. Retry asks what happened."
        case _:
            return ""
