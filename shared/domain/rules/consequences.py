"""What an event says beyond its command: the actions that it denies, ends and sets running, the numbers of plans.

A reader of one event must not need another event to understand it. `decide` adds these fields last, with
`with_consequences`, so the log states them and `evolve` only applies them. A program that builds events itself calls
`complete`.
"""

from parley.events import SessionEvent, facts
from parley.events.values import Ended, EndReason
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.state import Turn
from shared.domain.transcript.messages import withdraws_message
from shared.domain.turn import flow_paths
from shared.domain.turn.batches import begin_quiet_reads, blocked_actions, end_actions, find_action, quiet_reads

PLANS_A_TURN = facts.TurnPlanned | facts.TurnRequested | facts.PlanApproved


def complete(session: Session, event: SessionEvent) -> SessionEvent:
    """The event with the fields that follow from the session (`denied`, `ended`, `begins`, `number`, …).

    Values that the event has in these fields are replaced.
    """
    return with_consequences(session, event)[0]


def with_consequences(session: Session, event: SessionEvent) -> tuple[SessionEvent, Session]:
    """The event as `complete` returns it, and the session after it."""
    event = event.model_copy(update={"ended": (), "begins": ()}) if event.ended or event.begins else event
    if known := _derived_fields(session, event):
        event = event.model_copy(update=known)
    after = evolve(session, event)
    if isinstance(event, facts.SessionRetried | facts.ActionSkipped):
        event = event.model_copy(update={"planned_again": _planned_again(session, after)})
    if session.turn is None and not isinstance(event, PLANS_A_TURN):
        return event, after  # there is no action to end or to start
    if ended := _ended_actions(session, event, after):
        event = event.model_copy(update={"ended": ended})
        after = evolve(session, event)
    if begins := tuple(action.spec.id for action in quiet_reads(after)):
        event = event.model_copy(update={"begins": begins})
        after = begin_quiet_reads(after, event)
    return event, after


def _planned_again(before: Session, after: Session) -> tuple[str, ...]:
    """The actions that had ended before the event and are open after it."""
    waited = {a.spec.id for a in before.turn.actions if a.status in flow_paths.OPEN_STATUSES} if before.turn else set()
    waiting = [a.spec.id for a in after.turn.actions if a.status in flow_paths.OPEN_STATUSES] if after.turn else []
    return tuple(action_id for action_id in waiting if action_id not in waited)


def _derived_fields(before: Session, event: SessionEvent) -> dict[str, object]:
    """The event's fields that follow from the session before it."""
    known: dict[str, object] = {}
    match event:
        case facts.ApprovalExpired():
            waited = undecided_actions(before.turn) if event.unanswered is None else ()
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
            action = find_action(before, event.action_id)
            known = {"effect": action.spec.effect if action else None}
        case facts.TurnChanged() if before.turn:
            known = _path_changes(before.turn, event)
    return known


def _path_changes(turn: Turn, event: facts.TurnChanged) -> dict[str, object]:
    rest = {spec.id: spec for spec in event.actions}
    dropped = tuple(a.spec.id for a in turn.actions if a.status in flow_paths.OPEN_STATUSES and a.spec.id not in rest)
    known = [action for action in turn.actions if action.spec.id in rest]
    unchanged = tuple(a.spec.id for a in known if flow_paths.apply_ruling(a, rest[a.spec.id]) is a)
    override_id = flow_paths.override_id(turn) if event.overrides else None
    return {"dropped": dropped, "unchanged": unchanged, "override_id": override_id}


def _ended_actions(before: Session, event: SessionEvent, after: Session) -> tuple[Ended, ...]:
    reason = _end_reason(before, event, after)
    actions = before.turn.actions if before.turn and reason else ()
    denied = event.action_id if isinstance(event, facts.ApprovalDenied) else ""
    open_statuses = (*flow_paths.OPEN_STATUSES, "running")
    open_actions = (action for action in actions if action.status in open_statuses and action.spec.id != denied)
    ended = tuple(
        Ended(id=action.spec.id, reason=reason, began=action.status == "running") for action in open_actions if reason
    )
    if isinstance(event, facts.TurnPlanned) and after.turn is None:  # planned without the messages that came meanwhile
        ended += tuple(Ended(id=spec.id, reason="superseded") for spec in event.actions)
    if after.phase == "verifying":  # a step has failed, and the others wait for the user
        ended += tuple(Ended(id=action.spec.id, reason="stopped") for action in after.waiting_actions)
    blocked = blocked_actions(end_actions(after, ended).turn)
    return ended + tuple(Ended(id=action_id, reason="dependency_failed") for action_id in blocked)


def _end_reason(before: Session, event: SessionEvent, after: Session) -> EndReason | None:
    """Why the open actions of the current turn end; None while the turn goes on."""
    match event:
        case facts.SessionStopped() if not withdraws_message(before):
            return "stopped"
        case facts.PlanCancelled() | facts.PlanDeleted():
            return "cancelled"
    goes_on = before.turn and after.turn and before.turn.number == after.turn.number
    return None if goes_on else "superseded"
