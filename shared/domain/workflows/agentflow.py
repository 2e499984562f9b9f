"""Act with tools: turn after turn is planned, carried out and verified, until an answer can be given."""

from parley.events import facts
from shared.domain.kernel.session import Session, with_next_draft
from shared.domain.kernel.state import TurnRules
from shared.domain.kernel.workflow import Edge, Workflow, unread, unread_while_planning


def no_actions(session: Session, event: facts.TurnPlanned) -> bool:
    """The planner found nothing left to do, or nothing it can do."""
    return not event.actions


def escalates(session: Session, event: facts.TurnVerified) -> bool:
    """A person goes on. A user who has taken over does so until they hand the session back."""
    return event.next_action == "escalate" or (session.turn is not None and session.turn.taken_over)


def goes_on(session: Session, event: facts.TurnVerified) -> bool:
    """Another turn is needed: the next one, or this one again."""
    return event.next_action in ("continue", "retry")


def judged(session: Session, event: facts.TurnVerified) -> Session:
    """Passes the reason for a retry on to the next plan of the turn."""
    if unread(session, event) or escalates(session, event):
        return session
    return with_next_draft(session, problems=(event.reasoning,) if event.next_action == "retry" else ())


AFTER_VERDICT = (
    Edge("escalated", escalates),
    Edge("planning", goes_on),
    Edge("answering"),
)

AGENTFLOW = Workflow(
    "agentflow",
    after={
        "turn.planned": (Edge("planning", unread_while_planning), Edge("answering", no_actions), Edge("first_batch")),
        "turn.requested": (Edge("first_batch"),),
        "turn.verified": (Edge("planning", unread), *AFTER_VERDICT),
        "answer.given": (Edge("planning", unread), Edge("resting", rests="answered")),
    },
    turn=TurnRules(reads_messages=True, fills_calls=True),
    judged=judged,
)
