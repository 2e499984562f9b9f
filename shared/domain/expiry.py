"""What nobody decides or answers in time: an approval is given up, and a step whose question it was has failed."""

from parley.events import facts
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.errors import OutOfTurn
from shared.domain.event_meta import event_meta
from shared.domain.session import Session, put_back


def asking_step(session: Session) -> str | None:
    """The action of the plan's step whose question a person is asked now."""
    question = session.question
    by_step = session.turn is not None and session.turn.rules.by_step
    return question.action_id if by_step and question is not None and question.about == "action" else None


def expires(session: Session) -> bool:
    """Whether what a person is asked now is given up after the session's `approval_timeout`."""
    return put_back(session).phase == "awaiting_approval" or asking_step(session) is not None


def expire(session: Session, command: c.Expire, meta: CommandMeta) -> facts.ApprovalExpired:
    """Raises OutOfTurn."""
    if not expires(session) or session.since_version != command.requested_version:
        raise OutOfTurn("What was asked has been decided or answered.")
    step = asking_step(session)
    return facts.ApprovalExpired(
        **event_meta(session, meta, facts.ApprovalExpired, needs=2 if step else 1),
        requested_version=command.requested_version,
        unanswered=step,
    )


def wrong_expiry(session: Session, event: facts.ApprovalExpired) -> str:
    """Why this step cannot be the one that nobody answered; "" where it can, or where the event names none."""
    named = event.unanswered
    return "" if named is None or named == asking_step(session) else f"{named} asks nobody now"
