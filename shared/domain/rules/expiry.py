"""Expiry of requests to the user: an approval is given up, and a step whose question was not answered fails."""

from parley.events import facts
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.rules.event_meta import event_meta


def question_step(session: Session) -> str | None:
    """The action id of the plan step whose question is open; None if there is none."""
    question = session.question
    by_step = session.turn is not None and session.turn.rules.by_step
    return question.action_id if by_step and question is not None and question.about == "action" else None


def expires(session: Session) -> bool:
    """Whether the open request to the user expires after the session's `approval_timeout`."""
    return session.phase == "awaiting_approval" or question_step(session) is not None


def expire(session: Session, command: c.Expire, meta: CommandMeta) -> facts.ApprovalExpired:
    """Raises OutOfTurn if the request has been decided or answered."""
    if not expires(session) or session.since_version != command.requested_version:
        raise OutOfTurn("What was asked has been decided or answered.")
    step = question_step(session)
    return facts.ApprovalExpired(
        **event_meta(session, meta, facts.ApprovalExpired),
        requested_version=command.requested_version,
        unanswered=step,
    )


def check_expiry(session: Session, event: facts.ApprovalExpired) -> str:
    """Why the step that the event names cannot have expired; "" if it can, or if the event names none."""
    named = event.unanswered
    return "" if named is None or named == question_step(session) else f"{named} does not ask the user now"
