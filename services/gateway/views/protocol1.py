"""Protocol 1: its messages about events, and its snapshots, from the view's sections. Pure."""

from typing import Any

from pydantic import BaseModel

from parley.events import SessionEvent, facts
from parley.protocol import server as s
from parley.protocol.words import NOTES, REVIEW
from services.gateway.views import input_sections, sections
from services.gateway.views.allowed_messages import allowed_messages
from services.gateway.views.execution_plan import progress_text
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import SERVICE_OF, Session, undecided_actions
from shared.domain.kernel.state import Action
from shared.domain.kernel.state_names import OPTION_KEEP, OPTION_TAKE, rest_reason, state_name
from shared.domain.rules.permissions import SessionRole
from shared.domain.transcript.queries import said_with
from shared.domain.turn.batches import find_action
from shared.journal.notes import offer_text

CHANGES_OF_WAITING_ACTIONS = (
    facts.ApprovalGiven | facts.ApprovalDenied | facts.ActionSkipped | facts.TurnChanged | facts.TurnPlanned
)
CAN = """user_message approval replan edit edit_code answer continue run take_offer keep_offer complete stop pause
unpause retry cancel skip take_over hand_back rename edit_path judge save_to_library remember raise_budget feedback
fork""".split()  # noqa: SIM905
NOTED = "Noted: it is taken in before the next draft is shown."
NOTED_BY_STEP = "Noted: it is answered before the next step of the plan begins."


def snapshot(session: Session, draft: s.Delta | None = None, *, role: SessionRole | None = "owner") -> s.Snapshot:
    """The snapshot at `session.version` for a user with this role; `draft` is the one being written, if any."""
    view, shown = sections.full_view(session), _with_reply_as_work(session)
    own_fields = {
        "state": state_name(shown),
        "phase": shown.phase,
        "reason": rest_reason(shown),
        "turn": _turn(session),
        "answer": session.answer.text,
        "answer_view": view.answer,
        "review": review_with_say(session),
        "feedback_request": feedback_request(session),
        "question": question(session),
        "approval_request": approval_request(session),
        "continue_": continue_(shown),
        "draft": draft if session.works else None,
        "usage": usage(session),
        "can": _can(session, role),
    }
    return s.Snapshot(session_id=session.id, version=session.version, **_fields_of(s.Snapshot, view) | own_fields)


def _fields_of(model: type[BaseModel], section: BaseModel | None) -> dict[str, Any]:
    """The fields of a section that this model has, too."""
    return {name: value for name, value in section or () if name in model.model_fields}


def _message[Message: s.ServerMessage](
    model: type[Message], session: Session, section: BaseModel | None, **own_fields: object
) -> Message | None:
    """The message with the section's content; None without the section."""
    if section is None:
        return None
    fields = {"session_id": session.id, "version": session.version} | _fields_of(model, section) | own_fields
    return model(**fields)


def _with_reply_as_work(session: Session) -> Session:
    """The session while a message is answered and nothing else is at work: in the phase of the service that answers."""
    if session.reply is None or session.phase not in ("awaiting_approval", "resting", "waiting"):
        return session
    return replace(session, phase="coding" if session.reply.service == "generator" else "planning")


def _can(session: Session, role: SessionRole | None) -> tuple[str, ...]:
    """Without an edit while a service works, which this protocol's clients do not expect."""
    hidden = "edit" if session.phase in SERVICE_OF else ""
    return tuple(kind for kind in allowed_messages(session, role) if kind in CAN and kind != hidden)


def _turn(session: Session) -> s.TurnView | None:
    section = sections.turn_section(session)
    actions = tuple(map(_action, session.turn.actions)) if session.turn else ()
    return s.TurnView(**dict(section) | {"actions": actions}) if section else None


def _action(action: Action) -> s.ActionView:
    """The action with its result, which protocol 2 has in the journal."""
    fields = _fields_of(s.ActionView, sections.action_section(action))
    return s.ActionView(**fields, result=action.result, artefact=action.artefact)


def review(session: Session) -> s.TextPlanReview | s.CodeReview | None:
    """The plan or code in review."""
    section = input_sections.review(session)
    if section is None:
        return None
    if section.target == "code":
        return _message(s.CodeReview, session, section, **_fields_of(s.CodeReview, sections.code_view(session)))
    plan = sections.plan_view(session)
    return _message(s.TextPlanReview, session, section, **_fields_of(s.TextPlanReview, plan), plan=plan and plan.text)


def review_with_say(session: Session) -> s.TextPlanReview | s.CodeReview | None:
    """The same; its message begins with what was said with the draft, which has no other place in protocol 1."""
    message = review(session)
    say = said_with(session.transcript, message.version) if message and message.version else ""
    return message.model_copy(update={"message": f"{say}\n\n{message.message}"}) if message and say else message


def feedback_request(session: Session) -> s.FeedbackRequest | None:
    return _message(s.FeedbackRequest, session, input_sections.feedback(session))


def question(session: Session) -> s.Question | None:
    return _message(s.Question, session, input_sections.question(session))


def approval_request(session: Session) -> s.ApprovalRequest | None:
    """The request to decide on actions, once nothing else runs."""
    section = input_sections.approval(session) if session.phase == "awaiting_approval" else None
    actions = tuple(map(_action, undecided_actions(session.turn)))
    message = "These actions wait for your yes. Nothing runs before all of them are decided."
    return _message(s.ApprovalRequest, session, section, actions=actions, message=message)


def continue_(session: Session) -> s.Continue | None:
    """The choice of an open offer, or the options while the session rests."""
    content = _offer_choice(session) or input_sections.next_steps(session)
    choice = s.ContinueContent.model_validate(content, from_attributes=True) if content else None
    return s.Continue(session_id=session.id, version=session.version, content=choice) if choice else None


def _offer_choice(session: Session) -> s.ContinueContent | None:
    """The choice between an open offer and what is there; it can wait while another message is answered."""
    if session.offer is None or session.reply:
        return None
    message = f"{REVIEW[f'offer_{session.offer.draft.type}']} {REVIEW['offer_holds']}"
    return s.ContinueContent(message=message, options=(OPTION_TAKE, OPTION_KEEP))


def usage(session: Session) -> s.Usage:
    return s.Usage(session_id=session.id, version=session.version, **dict(sections.usage_section(session)))


def completion(session: Session) -> s.Completion:
    """The plan and code approved in this round; "" for what was not approved."""
    plan, code, turn = session.plan, session.code, session.turn
    return s.Completion(
        session_id=session.id,
        version=session.version,
        final_plan=plan.text if plan and plan.status in ("approved", "executing", "completed") else "",
        final_code=code.code if code and code.status == "approved" else "",
        message=(turn.verdict.reasoning if turn and turn.verdict else "") or "This is what you approved.",
    )


def messages_for(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """The messages about one event: the event itself, then its outcome, then requests to the person."""
    spent = (usage(after),) if event.usage or isinstance(event, facts.BudgetRaised) else ()
    outcome, requests = _outcome_messages(before, event, after), _request_messages(before, event, after)
    return (history_message(event), *spent, *outcome, *requests)


def history_message(event: SessionEvent) -> s.EventMessage:
    """The event as stored: all that a client needs of it that has a newer snapshot."""
    return s.EventMessage(session_id=event.session_id, version=event.version, event=event)


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
        case facts.SessionFailed() if failure := sections.failure_view(after):
            retry = " Retry does it again." if event.retryable else ""
            message = f"Failed while {event.phase}: {event.reason}{retry}"
            return (s.StageFailed(session_id=after.id, version=event.version, failure=failure, message=message),)
    texts = (_escalation_text(before, event, after), _late_outcome_text(event, after), _said_text(event, after))
    text = next(filter(None, texts), "") or _notice_text(event, after)
    log = s.Log(session_id=after.id, version=event.version, content=text) if text else None
    finished = _rests_because(after, "answered") and before.phase != "resting"
    return (log,) if log else (completion(after),) if finished else ()


def _request_messages(before: Session, event: SessionEvent, after: Session) -> tuple[s.ServerMessage, ...]:
    """Requests to the person that are new with this event, or that still wait when a message is answered."""
    if isinstance(event, facts.OfferMade):
        choice = continue_(after)
        return (choice,) if choice else ()
    is_replied = isinstance(event, facts.OfferKept) or (before.reply is not None and after.reply is None)
    if is_replied:
        before = replace(before, phase="planning", question=None)
    has_ended = before.phase != "resting" and (is_replied or after.rest_reason in ("answered", "approved"))
    is_reviewed = before.phase != "awaiting_approval" or _review_content(before) != _review_content(after)
    begins_input = before.phase != "awaiting_input"
    is_decided = isinstance(event, CHANGES_OF_WAITING_ACTIONS) or before.phase != after.phase
    requests: tuple[s.ServerMessage | None, ...] = (
        continue_(after) if has_ended or isinstance(event, facts.RemarkAnswered) else None,
        review_with_say(after) if is_reviewed else None,
        feedback_request(after) if begins_input else None,
        question(after) if begins_input or before.question != after.question else None,
        approval_request(after) if is_decided else None,
    )
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
    if isinstance(event, facts.TurnVerified):
        return f"A person must take over: {event.reasoning or 'the verifier says so.'}"
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
        case facts.PlanDrafted() if input_sections.review(after) is None:
            return event.say
        case _:
            return ""


def _notice_text(event: SessionEvent, after: Session) -> str:
    match event:
        case facts.OfferKept():
            return f"{NOTES['offer.kept'].capitalize()}."
        case facts.SessionPaused():
            return "Paused: the present step may end, no other begins."
        case facts.SessionResumed():
            return "The session goes on."
        case facts.MessageReceived(intent="guidance"):
            return NOTED_BY_STEP if after.turn and after.turn.rules.by_step else NOTED
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
            actions = after.turn.actions if after.turn else ()
            writes = (action.spec for action in actions if action.status == "started" and action.spec.effect != "read")
            tools = [spec.tool for spec in writes]
            return f"Stopped. {', '.join(tools)} had begun and is not cut off." if tools else "Stopped."


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
