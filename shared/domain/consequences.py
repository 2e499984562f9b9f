"""What an event brings about beyond its own content: the actions that it ends without an outcome of their own.

`decide` calls `complete` last, so the log says it and `evolve` only applies it. So does a program that builds events
itself.
"""

from shared.domain import paths
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.domain.waves import blocked, end
from shared.events import SessionEvent, facts
from shared.events.values import Ended, EndReason


def complete(session: Session, event: SessionEvent) -> SessionEvent:
    """The event that follows this session, with its `ended` filled in, whatever it held there. Pure."""
    bare = event.model_copy(update={"ended": ()}) if event.ended else event
    ended = _ended(session, bare, evolve(session, bare))
    return bare.model_copy(update={"ended": ended}) if ended else bare


def _ended(before: Session, event: SessionEvent, after: Session) -> tuple[Ended, ...]:
    reason = _reason(before, event, after)
    open_ = [a.spec.id for a in before.turn.actions if a.status in paths.OPEN] if before.turn and reason else []
    left = tuple(Ended(id=action_id, reason=reason) for action_id in open_ if reason)
    if isinstance(event, facts.TurnPlanned) and after.turn is None:  # planned without what was said meanwhile
        left += tuple(Ended(id=spec.id, reason="superseded") for spec in event.actions)
    needing = blocked(end(after, left).turn)
    return left + tuple(Ended(id=action_id, reason="dependency_failed") for action_id in needing)


def _reason(before: Session, event: SessionEvent, after: Session) -> EndReason | None:
    """Why what has not begun of the turn at hand never will; None where the turn goes on."""
    match event:
        case facts.SessionStopped() if before.remark is None:
            return "stopped"
        case facts.PlanCancelled() | facts.PlanDeleted():
            return "cancelled"
    goes_on = before.turn and after.turn and before.turn.number == after.turn.number
    return None if goes_on else "superseded"
