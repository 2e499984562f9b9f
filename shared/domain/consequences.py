"""What an event brings about beyond what its command says: actions that it denies, ends and sets running.

`decide` fills them in last with `followed`, so the log says it and `evolve` only applies it. A program that builds
events itself calls `complete`.
"""

from parley.events import SessionEvent, facts
from parley.events.values import Ended, EndReason
from shared.domain import paths
from shared.domain.evolve import evolve
from shared.domain.session import Session, undecided
from shared.domain.waves import begin_quiet, blocked, end, quiet_reads

PLANS_A_TURN = facts.TurnPlanned | facts.TurnRequested | facts.PlanApproved


def complete(session: Session, event: SessionEvent) -> SessionEvent:
    """The event with `denied`, `ended` and `begins` as they follow from the session; given values are ignored. Pure."""
    return followed(session, event)[0]


def followed(session: Session, event: SessionEvent) -> tuple[SessionEvent, Session]:
    """The event as `complete` makes it, and the session after it. Pure."""
    event = event.model_copy(update={"ended": (), "begins": ()}) if event.ended or event.begins else event
    if isinstance(event, facts.ApprovalExpired):
        event = event.model_copy(update={"denied": tuple(action.spec.id for action in undecided(session.turn))})
    after = evolve(session, event)
    if session.turn is None and not isinstance(event, PLANS_A_TURN):
        return event, after  # there is no action to end or to begin
    if ended := _ended(session, event, after):
        event = event.model_copy(update={"ended": ended})
        after = evolve(session, event)
    if begins := tuple(action.spec.id for action in quiet_reads(after)):
        event = event.model_copy(update={"begins": begins})
        after = begin_quiet(after, event)
    return event, after


def _ended(before: Session, event: SessionEvent, after: Session) -> tuple[Ended, ...]:
    reason = _reason(before, event, after)
    actions = before.turn.actions if before.turn and reason else ()
    held = (action for action in actions if action.status in (*paths.OPEN, "running"))
    left = tuple(Ended(id=action.spec.id, reason=reason) for action in held if reason)
    if isinstance(event, facts.TurnPlanned) and after.turn is None:  # planned without what was said meanwhile
        left += tuple(Ended(id=spec.id, reason="superseded") for spec in event.actions)
    needing = blocked(end(after, left).turn)
    return left + tuple(Ended(id=action_id, reason="dependency_failed") for action_id in needing)


def _reason(before: Session, event: SessionEvent, after: Session) -> EndReason | None:
    """Why what has not begun of the turn at hand never will; None where the turn goes on."""
    match event:
        case facts.SessionStopped() if before.words.remark is None:
            return "stopped"
        case facts.PlanCancelled() | facts.PlanDeleted():
            return "cancelled"
    goes_on = before.turn and after.turn and before.turn.number == after.turn.number
    return None if goes_on else "superseded"
