"""The row changes of one event: a pure function of the event and the session before and after it."""

from collections.abc import Iterator

from pydantic import BaseModel, JsonValue
from sqlalchemy import Table

from parley.events import SessionEvent, facts
from parley.events.values import ModelCall
from services.plan_store import tables as t
from services.plan_store.history import FoldedMessage
from services.plan_store.library_rows import library_changes, proposal_changes
from services.plan_store.memory_rows import begins_request, memory_changes
from services.plan_store.row_changes import RowChange, Upsert, Values, update_rows
from shared.domain import outcomes
from shared.domain.batches import end_actions
from shared.domain.outcomes import OutcomeEvent
from shared.domain.session import Session
from shared.domain.state import DONE_STATUSES, Action, ActionStatus, Turn
from shared.domain.usage import add_calls
from shared.domain.workflows.flow import path_of

PREVIEW = 300
Planned = facts.TurnPlanned | facts.TurnRequested


def changes_for(folded: FoldedMessage) -> Iterator[RowChange]:
    """The changes in the order to apply them, without that of the session's own row."""
    event, after = folded.event, folded.after.session
    if event is None:
        yield quarantine_row(folded, folded.before.session.id)
        return
    before = folded.before.session
    yield _journal(folded, event, before)
    yield from _usage(event)
    yield from _fact_rows(event)
    yield from _plan(before, event, after)
    yield from _code(before, event, after)
    yield from _turn(before, event, after)
    yield from memory_changes(before, event, after, folded.raw.position)
    yield from library_changes(event, after, folded.raw.position)
    yield from proposal_changes(event, after)


def quarantine_row(folded: FoldedMessage, session_id: str, reason: str = "") -> Upsert:
    raw = folded.raw
    preview = raw.data[: PREVIEW * 4].decode(errors="replace")[:PREVIEW]
    row = {"position": raw.position, "session_id": session_id, "subject": raw.subject[:PREVIEW], "at": raw.at}
    return Upsert(t.parked_messages, row | {"reason": (reason or folded.reason)[:500], "preview": preview})


def _journal(step: FoldedMessage, event: SessionEvent, before: Session) -> RowChange:
    row = {"version": event.version, "position": step.raw.position, "type": event.type, "actor": event.actor}
    body = event.model_dump(mode="json")
    return Upsert(
        t.journal,
        row
        | {"session_id": event.session_id, "at": event.at, "begins_round": begins_request(before, event), "body": body},
    )


def _usage(event: SessionEvent) -> Iterator[RowChange]:
    for ordinal, call in enumerate(event.usage, 1):
        key = {"session_id": event.session_id, "version": event.version, "ordinal": ordinal}
        yield Upsert(t.usage, key | call.model_dump(include=set(ModelCall.model_fields)) | {"at": event.at})


def _fact_rows(event: SessionEvent) -> Iterator[RowChange]:
    """The changes of events that have a row of their own."""
    key = {"session_id": event.session_id}
    match event:
        case facts.AnswerGiven():
            fields = event.model_dump(mode="json", include={"version", "text", "confidence", "evidence"})
            yield Upsert(t.answers, key | fields | {"at": event.at})
        case facts.SessionShared():
            yield Upsert(t.shares, key | {"user": event.user, "role": event.role})
        case facts.PlanDeleted():
            yield update_rows(t.plans, key, {"deleted": True})
        case _:
            pass


# --- plans and code: one row per version, with the state that the session has


def _plan(before: Session, event: SessionEvent, after: Session) -> Iterator[RowChange]:
    plan, old = after.plan, before.plan
    if plan is None or plan == old:
        return
    if old and old.number == plan.number:
        yield update_rows(t.plans, {"session_id": after.id, "number": plan.number}, {"status": plan.status})
        return
    if before.counts.plans:
        yield _superseded(t.plans, after, "draft", "pending_approval")
    row: Values = {
        "session_id": after.id,
        "number": plan.number,
        "version": plan.version,
        "kind": plan.kind,
        "goal": plan.goal,
        "steps": [step.model_dump(mode="json") for step in plan.steps],
        "notes": plan.notes,
        "status": plan.status,
        "by": plan.by,
        "at": event.at,
        "hash": plan.hash,
        "path": _json(path_of(plan)),
        "deleted": False,
    }
    yield Upsert(t.plans, row)


def _json(value: BaseModel | None) -> JsonValue:
    return value.model_dump(mode="json") if value else None


def _code(before: Session, event: SessionEvent, after: Session) -> Iterator[RowChange]:
    code, old = after.code, before.code
    if code is None or code == old:
        return
    state: Values = {
        "status": code.status,
        "checks": [check.model_dump(mode="json") for check in code.checks],
        "tests": code.tests,
        "repairs": code.repairs,
    }
    if old and old.number == code.number:
        yield update_rows(t.code_versions, {"session_id": after.id, "number": code.number}, state)
        return
    if before.counts.codes:
        yield _superseded(t.code_versions, after, "checking", "review")
    row: Values = {
        "session_id": after.id,
        "number": code.number,
        "version": code.version,
        "plan_version": code.plan_version,
        "code": code.code,
        "explanation": code.explanation,
        "by": code.by,
        "at": event.at,
        "hash": code.hash,
    }
    yield Upsert(t.code_versions, row | state)


def _superseded(table: Table, session: Session, *waiting: str) -> RowChange:
    """Mark older versions that wait for a decision as superseded."""
    return update_rows(table, {"session_id": session.id}, {"status": "superseded"}, only=waiting)


# --- turns and their actions


def _turn(before: Session, event: SessionEvent, after: Session) -> Iterator[RowChange]:
    old, new = before.turn, after.turn
    if old and (new is None or new.number != old.number):
        yield from _same_turn(old, end_actions(before, event.ended).turn or old, event)
    if isinstance(event, facts.TurnVerified) and new:
        yield update_rows(t.turns, {"session_id": after.id, "turn": event.turn}, _verdict(event))
    if new is None and isinstance(event, facts.TurnPlanned):
        yield from _turn_not_run(event)
    if new and (old is None or new.number != old.number or isinstance(event, Planned)):
        yield _new_turn(event, new)
        for ordinal, action in enumerate(new.actions, 1):
            yield Upsert(t.actions, _new_action(event, new.number, action, ordinal))
    elif new and old:
        yield from _same_turn(old, new, event)
    if isinstance(event, OutcomeEvent):
        yield from _orphaned_outcomes(add_calls(before, event.usage), event)


def _same_turn(old: Turn, new: Turn, event: SessionEvent) -> Iterator[RowChange]:
    """The changes of its actions. On a path, new actions may have replaced those that had not begun."""
    key = {"session_id": event.session_id, "turn": new.number}
    known = {action.spec.id: action for action in old.actions}
    if replaced := known.keys() - {action.spec.id for action in new.actions}:
        for action_id in sorted(replaced):
            yield update_rows(t.actions, key | {"id": action_id}, {"status": "superseded", "ended_at": event.at})
    ordinal = old.made
    for action in new.actions:
        before = known.get(action.spec.id)
        if before is None:
            ordinal += 1
            yield Upsert(t.actions, _new_action(event, new.number, action, ordinal))
        elif before != action:
            state = _action_state(action, event, before=before.shown_status)
            spec = _spec_columns(action) if action.spec != before.spec else {}
            yield update_rows(t.actions, key | {"id": action.spec.id}, spec | state)


def _verdict(event: facts.TurnVerified) -> Values:
    same = event.model_dump(include={"next_action", "execution_analysis", "memory_analysis"})
    verdict = {"verdict_status": event.status, "verdict_reasoning": event.reasoning, "verdict_rule": event.rule}
    return same | verdict | {"verified_at": event.at}


def _turn_not_run(event: facts.TurnPlanned) -> Iterator[RowChange]:
    """The rows of a turn that did not run: nothing was left to do, or the user sent a new message first."""
    actions = tuple(Action(spec, "skipped", error=spec.decision_reason) for spec in event.actions)
    turn = Turn(event.turn, event.sub_goal, actions, event.actor, final=event.final, path=event.path)
    yield _new_turn(event, turn)
    for ordinal, action in enumerate(actions, 1):
        yield Upsert(t.actions, _new_action(event, event.turn, action, ordinal))


def _new_turn(event: SessionEvent, turn: Turn) -> RowChange:
    planned = event if isinstance(event, facts.TurnPlanned) else None
    row: Values = {
        "session_id": event.session_id,
        "turn": turn.number,
        "version": event.version,
        "sub_goal": turn.sub_goal,
        "by": turn.by,
        "at": event.at,
        "selected_tool": planned.selected_tool if planned else "",
        "required_skills": list(planned.required_skills) if planned else [],
        "reasoning": planned.reasoning if planned else "",
        "sub_goals": list(planned.sub_goals) if planned else [],
        "final": turn.final,
        "recalled": [action.model_dump(mode="json") for action in planned.recalled] if planned else [],
        "path": _json(path_of(turn)),
    }
    return Upsert(t.turns, row | dict.fromkeys(VERDICT_COLUMNS))


VERDICT_COLUMNS = (
    "verdict_status",
    "next_action",
    "execution_analysis",
    "memory_analysis",
    "verdict_reasoning",
    "verdict_rule",
    "verified_at",
)
SPEC_COLUMNS = (
    "id",
    "tool",
    "arguments",
    "description",
    "effect",
    "depends_on",
    "approval_reason",
    "policy",
    "repairs",
    "decision",
    "decision_reason",
)


def _new_action(event: SessionEvent, turn: int, action: Action, ordinal: int) -> Values:
    """The row of a new action. One that is not run, or that the user did, has ended already."""
    key = {"session_id": event.session_id, "turn": turn, "ordinal": ordinal}
    times = {
        "duration_seconds": None,
        "started_at": None,
        "ended_at": event.at if action.status in DONE_STATUSES else None,
    }
    return key | _spec_columns(action) | times | _action_outcome(action)


def _spec_columns(action: Action) -> Values:
    spec = action.spec.model_dump(mode="json")
    return {name: spec[name] for name in SPEC_COLUMNS} | {"hash": action.hash}


def _action_outcome(action: Action) -> Values:
    artefact = action.artefact.model_dump(mode="json") if action.artefact else None
    columns = {
        "status": action.shown_status,
        "result": action.result,
        "error": action.explanation,
        "tokens": action.tokens,
    }
    return columns | {"artefact": artefact}


def _action_state(action: Action, event: SessionEvent, before: ActionStatus) -> Values:
    """The action's changed columns. Times are set on a change of status only: model calls are recorded at any time."""
    state = _action_outcome(action)
    if action.shown_status == "started" != before:
        state["started_at"] = event.at
    elif action.status in DONE_STATUSES and action.status != before:
        state["ended_at"] = event.at
    if isinstance(event, facts.ActionsFinished) and action.status != before:
        state["duration_seconds"] = action.seconds
    return state


def _orphaned_outcomes(before: Session, event: OutcomeEvent) -> Iterator[RowChange]:
    """The changes of actions that were still running when their turn ended."""
    changes = outcomes.action_changes(event)
    for action in (action for action in before.left_running if action.spec.id in changes):
        state = _action_state(changes[action.spec.id](action), event, before=action.status)
        yield update_rows(t.actions, {"session_id": before.id, "id": action.spec.id}, state)
