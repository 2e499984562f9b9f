"""What an event says beyond its command: the actions that it denies, ends and sets running, the numbers of plans.

Whoever reads one event must not need another one to know what it is about. `decide` fills these in last with
`followed`, so the log says it and `evolve` only applies it. A program that builds events itself calls `complete`.
"""

from parley.events import SessionEvent, facts
from parley.events.values import Ended, EndReason
from shared.domain import paths
from shared.domain.evolve import evolve
from shared.domain.said import takes_back_remark
from shared.domain.session import Session, undecided
from shared.domain.state import Turn
from shared.domain.waves import begin_quiet, blocked, end, find, quiet_reads

PLANS_A_TURN = facts.TurnPlanned | facts.TurnRequested | facts.PlanApproved


def complete(session: Session, event: SessionEvent) -> SessionEvent:
    """The event with what follows from the session (`denied`, `ended`, `begins`, `number`, …). Pure.

    Given values are ignored.
    """
    return followed(session, event)[0]


def followed(session: Session, event: SessionEvent) -> tuple[SessionEvent, Session]:
    """The event as `complete` makes it, and the session after it. Pure."""
    event = event.model_copy(update={"ended": (), "begins": ()}) if event.ended or event.begins else event
    if known := _known(session, event):
        event = event.model_copy(update=known)
    after = evolve(session, event)
    if isinstance(event, facts.SessionRetried | facts.ActionSkipped):
        event = event.model_copy(update={"planned_again": _planned_again(session, after)})
    if session.turn is None and not isinstance(event, PLANS_A_TURN):
        return event, after  # there is no action to end or to begin
    if ended := _ended(session, event, after):
        event = event.model_copy(update={"ended": ended})
        after = evolve(session, event)
    if begins := tuple(action.spec.id for action in quiet_reads(after)):
        event = event.model_copy(update={"begins": begins})
        after = begin_quiet(after, event)
    return event, after


def _planned_again(before: Session, after: Session) -> tuple[str, ...]:
    """The actions that were over, and wait to be run."""
    waited = {a.spec.id for a in before.turn.actions if a.status in paths.OPEN} if before.turn else set()
    waiting = [a.spec.id for a in after.turn.actions if a.status in paths.OPEN] if after.turn else []
    return tuple(action_id for action_id in waiting if action_id not in waited)


def _known(before: Session, event: SessionEvent) -> dict[str, object]:
    """What the session knows and the event's readers want to be told."""
    known: dict[str, object] = {}
    match event:
        case facts.ApprovalExpired():
            waited = undecided(before.turn) if event.unanswered is None else ()
            known = {"denied": tuple(action.spec.id for action in waited)}
        case facts.PlanDrafted() | facts.PlanEdited():
            known = {"number": before.counts.plans + 1}
        case facts.CodeDrafted() | facts.CodeEdited():
            known = {"number": before.counts.codes + 1}
        case facts.PlanApproved() | facts.PlanRejected():
            known = {"number": before.plan.number if before.plan else 0}
        case facts.CodeApproved() | facts.CodeRejected():
            known = {"number": before.code.number if before.code else 0}
        case facts.QuestionAnswered():
            is_input = before.turn is not None and before.turn.rules.answers_are_input
            about = before.question.about if before.question else None
            asked_version = before.question.asked_version if before.question else 0
            known = {"kind": about, "is_input": is_input and about == "action", "asked_version": asked_version}
        case facts.ActionUncertain():
            action = find(before, event.action_id)
            known = {"effect": action.spec.effect if action else None}
        case facts.TurnChanged() if before.turn:
            known = _of_the_rest(before.turn, event)
    return known


def _of_the_rest(turn: Turn, event: facts.TurnChanged) -> dict[str, object]:
    rest = {spec.id: spec for spec in event.actions}
    dropped = tuple(a.spec.id for a in turn.actions if a.status in paths.OPEN and a.spec.id not in rest)
    known = [action for action in turn.actions if action.spec.id in rest]
    unchanged = tuple(a.spec.id for a in known if paths.ruled_again(a, rest[a.spec.id]) is a)
    override_id = paths.override_id(turn) if event.overrides else None
    return {"dropped": dropped, "unchanged": unchanged, "override_id": override_id}


def _ended(before: Session, event: SessionEvent, after: Session) -> tuple[Ended, ...]:
    reason = _reason(before, event, after)
    actions = before.turn.actions if before.turn and reason else ()
    held = (action for action in actions if action.status in (*paths.OPEN, "running"))
    left = tuple(Ended(id=action.spec.id, reason=reason, began=action.status == "running") for action in held if reason)
    if isinstance(event, facts.TurnPlanned) and after.turn is None:  # planned without what was said meanwhile
        left += tuple(Ended(id=spec.id, reason="superseded") for spec in event.actions)
    if after.turn and after.phase == "verifying":  # a step has come to nothing, and the others wait for a person
        left += tuple(Ended(id=action.spec.id, reason="stopped") for action in after.turn.waiting)
    needing = blocked(end(after, left).turn)
    return left + tuple(Ended(id=action_id, reason="dependency_failed") for action_id in needing)


def _reason(before: Session, event: SessionEvent, after: Session) -> EndReason | None:
    """Why what has not begun of the turn at hand never will; None where the turn goes on."""
    match event:
        case facts.SessionStopped() if not takes_back_remark(before):
            return "stopped"
        case facts.PlanCancelled() | facts.PlanDeleted():
            return "cancelled"
    goes_on = before.turn and after.turn and before.turn.number == after.turn.number
    return None if goes_on else "superseded"
