"""What one fact means to the person at the screen: the messages that follow its `event`. Pure."""

from parley.events import SessionEvent, facts
from parley.protocol import server as s
from services.gateway.views import messages
from services.gateway.views.execution_plan import come_to
from services.gateway.views.parts import failure_view
from shared.domain.session import Session
from shared.domain.state import Action
from shared.domain.waves import find


def told(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """Everything clients are sent about one event: the event itself, then what it brought about."""
    as_stored = s.Event(session_id=after.id, version=event.version, event=event)
    usage = (messages.usage(after),) if event.usage or isinstance(event, facts.BudgetRaised) else ()
    return (as_stored, *usage, *_outcomes(before, event, after), *_asks(before, event, after))


def _outcomes(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """What has come to an end, and what the next screen says about it."""
    match event:
        case facts.UsageRecorded() | facts.BudgetRaised():
            return ()
        case facts.AnswerGiven():
            told = {"text": event.text, "confidence": event.confidence, "evidence": event.evidence}
            return (s.Answer(session_id=after.id, version=event.version, **told),)
        case facts.SessionCompleted():
            text = "Completed. A new message goes on from here."
            return (s.Completed(session_id=after.id, version=event.version, content=text),)
        case facts.SessionStopped() | facts.PlanCancelled() | facts.PlanDeleted() | facts.ApprovalExpired():
            stopped = s.Stopped(session_id=after.id, version=event.version, message=_why_stopped(event, after))
            over = isinstance(event, facts.PlanCancelled) and after.phase == "resting"
            return (stopped,) if over or _rests(after, "stopped") else ()
        case facts.SessionFailed():
            failure = failure_view(after)
            message = f"Failed while {event.phase}: {event.reason}" + (
                " Retry does it again." if event.retryable else ""
            )
            failed = failure and s.Failed(session_id=after.id, version=event.version, failure=failure, message=message)
            return (failed,) if failed else ()
    text = _handed_over(before, event, after) or _late(event, after) or _worth_telling(event, after)
    log = s.Log(session_id=after.id, version=event.version, content=text) if text else None
    finished = _rests(after, "answered") and before.phase != "resting"
    return (log,) if log else (messages.completion(after),) if finished else ()


def _asks(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """What a person is asked for now, where this event changed that."""
    said = before.words.remark is not None and after.words.remark is None
    offer = (
        messages.continue_(after)
        if before.phase != "resting" and (said or after.rest_reason in ("answered", "approved"))
        else None
    )
    asked: list[s.ServerMessage | None] = [offer]
    if (review := messages.review(after)) and (before.phase != "awaiting_approval" or _shown(before) != _shown(after)):
        asked.append(review)
    if before.phase != "awaiting_input" and not after.question:
        asked.append(messages.feedback_request(after))
    if before.question != after.question or before.phase != "awaiting_input":
        asked.append(messages.question(after))
    if (
        isinstance(event, facts.ApprovalGiven | facts.ApprovalDenied | facts.ActionSkipped | facts.TurnChanged)
        or before.phase != after.phase
    ):
        asked.append(messages.approval_request(after))
    return tuple(message for message in asked if message is not None)


def _shown(session: Session) -> tuple[int, int, int]:
    """What a review shows: the versions of plan and code, and how many checks the code has had."""
    code = session.code
    return session.plan.version if session.plan else 0, code.version if code else 0, len(code.checks) if code else 0


def _rests(session: Session, reason: str) -> bool:
    return session.phase == "resting" and session.rest_reason == reason


def _handed_over(before: Session, event: SessionEvent, after: Session) -> str:
    """Why a person is needed now, where this event says so."""
    if after.phase != "escalated" or before.phase == "escalated":
        return ""
    if before.turn and before.turn.taken_over:
        return "Your turn is over. Act again, or hand the session back with a word about it."
    match event:
        case facts.TurnVerified():
            return f"A person must take over: {event.reasoning or 'the verifier says so.'}"
        case _:
            return "A person must take over."


def _worth_telling(event: SessionEvent, after: Session) -> str:
    match event:
        case facts.RemarkAnswered():
            return event.text
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
            kept = " It is kept in your library." if event.saved else ""
            return f"Accepted: its path is an example for similar requests.{kept}"
        case _:
            return ""


def _why_stopped(event: SessionEvent, after: Session) -> str:
    match event:
        case facts.PlanCancelled():
            return f"The plan was cancelled. {come_to(after)}".rstrip()
        case facts.PlanDeleted():
            return "The plan was deleted; the journal keeps its history."
        case facts.ApprovalExpired():
            return "Nobody decided in time. Retry shows it again."
        case _:
            begun = [action.spec.tool for action in _begun(after)]
            return f"Stopped. {', '.join(begun)} had begun and is not cut off." if begun else "Stopped."


def _begun(session: Session) -> list[Action]:
    """What changes something and is still on its way."""
    actions = session.turn.actions if session.turn else ()
    return [action for action in actions if action.status == "started" and action.spec.effect != "read"]


def _late(event: SessionEvent, after: Session) -> str:
    """What came of a write that had begun before the person stopped the session."""
    if not _rests(after, "stopped"):
        return ""
    match event:
        case facts.ActionsFinished():
            ended = ((find(after, one.action_id), one.ok) for one in event.outcomes)
            return " ".join(
                f"{action.spec.tool} {'took effect' if ok else 'failed'} after the stop."
                for action, ok in ended
                if action and action.spec.effect != "read"
            )
        case facts.ActionUncertain() if (action := find(after, event.action_id)) and action.spec.effect != "read":
            return f"Nobody can tell whether {action.spec.tool} took effect. Retry asks what happened."
        case _:
            return ""
