"""The state names that clients see: a function of the session's phase and of what is in review."""

from shared.domain.kernel.session import RestReason, Session, review_target

OPTION_FEEDBACK = "Continue with feedback"
OPTION_RUN = "Run the code"
OPTION_COMPLETE = "Complete this task"
OPTION_TAKE = "Take it"
OPTION_KEEP = "Keep what is there"
OFFER_STATE, REPLYING_STATE = "offer", "replying"

_PLAIN = {
    "planning": "text_plan_generation",
    "coding": "code_generation",
    "executing": "executing",
    "answering": "answering",
    "waiting": "waiting",
    "escalated": "escalated",
    "failed": "failed",
}


def state_name(session: Session) -> str:
    """One word for clients: `greeting`, `text_plan_approval`, `code_feedback`, `completed`, …"""
    target = review_target(session)
    kind = "code" if target == "code" else "text_plan"
    match session.phase:
        case "awaiting_approval":
            return "action_approval" if target == "actions" else f"{kind}_approval"
        case "awaiting_input":
            return "question" if session.question else f"{kind}_feedback"
        case "verifying":
            return "verifying" if session.turn else "code_generation"
        case "resting":
            names = {"new": "greeting", "stopped": "stopped", "approved": "approved"}
            return names.get(session.rest_reason, "completed")
        case phase:
            return _PLAIN[phase]


def shown_state(session: Session) -> str:
    """The state for screens and lists: an open offer needs the person, whatever else goes on."""
    if session.reply and session.phase == "resting":
        return REPLYING_STATE
    return OFFER_STATE if session.offer else state_name(session)


def rest_reason(session: Session) -> RestReason:
    """Why the session rests, for clients; "new" while it does not rest, whatever the last reason was."""
    return session.rest_reason if session.phase == "resting" else "new"


def options(session: Session) -> tuple[str, ...]:
    """The options that `continue` offers for a session at rest."""
    runs = session.code is not None and session.code.status == "approved"
    return (OPTION_FEEDBACK, *((OPTION_RUN,) if runs else ()), OPTION_COMPLETE)
