"""The names of an attempt at an action outside the log: the idempotency key of its call, the name of its artefact."""

from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action


def idempotency_key(session: Session, action: Action) -> str:
    """The same key whenever this attempt is repeated. A plan's step keeps its key in later versions of the plan."""
    by_step = session.turn is not None and session.turn.rules.by_step
    return f"{session.id}/{action.spec.id}/{action.attempt}" if by_step else artefact_name(session, action)


def artefact_name(session: Session, action: Action) -> str:
    """The artefact that holds a large result in full. Each turn has results of its own."""
    turn = session.turn.number if session.turn else 0
    return f"{session.id}/{turn}/{action.spec.id}/{action.attempt}"
