"""Which rows one fact changes: a pure function of the session before it, the fact, and the session after it."""

from collections.abc import Iterator

from pydantic import BaseModel, JsonValue
from sqlalchemy import Table

from parley.events import SessionEvent, facts
from parley.events.values import ModelCall
from services.plan_store import tables as t
from services.plan_store.accepted import judged, proposed
from services.plan_store.change import Change, Put, Values, patch
from services.plan_store.history import Step
from services.plan_store.memories import begins, remembered
from shared.domain import outcomes
from shared.domain.outcomes import OutcomeEvent
from shared.domain.session import Session
from shared.domain.state import DONE, Action, ActionStatus, Turn
from shared.domain.usage import counted
from shared.domain.waves import end
from shared.domain.workflows.flow import path_of

PREVIEW = 300
Planned = facts.TurnPlanned | facts.TurnRequested


def changes(step: Step) -> Iterator[Change]:
    """The changes in the order they are to be made; the row of the session itself is not among them."""
    event, after = step.event, step.after.session
    if event is None:
        yield parked(step, step.before.session.id)
        return
    before = step.before.session
    yield _journal(step, event, before)
    yield from _usage(event)
    yield from _told(event)
    yield from _plan(before, event, after)
    yield from _code(before, event, after)
    yield from _turn(before, event, after)
    yield from remembered(before, event, after, step.raw.position)
    yield from judged(event, after, step.raw.position)
    yield from proposed(event, after)


def parked(step: Step, session_id: str, reason: str = "") -> Put:
    raw = step.raw
    preview = raw.data[: PREVIEW * 4].decode(errors="replace")[:PREVIEW]
    row = {"position": raw.position, "session_id": session_id, "subject": raw.subject[:PREVIEW], "at": raw.at}
    return Put(t.parked_messages, row | {"reason": (reason or step.reason)[:500], "preview": preview})


def _journal(step: Step, event: SessionEvent, before: Session) -> Change:
    row = {"version": event.version, "position": step.raw.position, "type": event.type, "actor": event.actor}
    body = event.model_dump(mode="json")
    return Put(
        t.journal,
        row | {"session_id": event.session_id, "at": event.at, "begins_round": begins(before, event), "body": body},
    )


def _usage(event: SessionEvent) -> Iterator[Change]:
    for ordinal, call in enumerate(event.usage, 1):
        key = {"session_id": event.session_id, "version": event.version, "ordinal": ordinal}
        yield Put(t.usage, key | call.model_dump(include=set(ModelCall.model_fields)) | {"at": event.at})


def _told(event: SessionEvent) -> Iterator[Change]:
    """Facts that are rows of their own."""
    key = {"session_id": event.session_id}
    match event:
        case facts.AnswerGiven():
            fields = event.model_dump(mode="json", include={"version", "text", "confidence", "evidence"})
            yield Put(t.answers, key | fields | {"at": event.at})
        case facts.SessionShared():
            yield Put(t.shares, key | {"user": event.user, "role": event.role})
        case facts.PlanDeleted():
            yield patch(t.plans, key, {"deleted": True})
        case _:
            pass


# --- plans and code: a row a version; their state is the session's


def _plan(before: Session, event: SessionEvent, after: Session) -> Iterator[Change]:
    plan, old = after.plan, before.plan
    if plan is None or plan == old:
        return
    if old and old.number == plan.number:
        yield patch(t.plans, {"session_id": after.id, "number": plan.number}, {"status": plan.status})
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
    yield Put(t.plans, row)


def _json(value: BaseModel | None) -> JsonValue:
    return value.model_dump(mode="json") if value else None


def _code(before: Session, event: SessionEvent, after: Session) -> Iterator[Change]:
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
        yield patch(t.code_versions, {"session_id": after.id, "number": code.number}, state)
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
    yield Put(t.code_versions, row | state)


def _superseded(table: Table, session: Session, *waiting: str) -> Change:
    """What waited for a person does no more: there is a newer one."""
    return patch(table, {"session_id": session.id}, {"status": "superseded"}, only=waiting)


# --- turns and their actions


def _turn(before: Session, event: SessionEvent, after: Session) -> Iterator[Change]:
    old, new = before.turn, after.turn
    if old and (new is None or new.number != old.number):
        yield from _same_turn(old, end(before, event.ended).turn or old, event)
    if isinstance(event, facts.TurnVerified) and new:
        yield patch(t.turns, {"session_id": after.id, "turn": event.turn}, _verdict(event))
    if new is None and isinstance(event, facts.TurnPlanned):
        yield from _turn_not_run(event)
    if new and (old is None or new.number != old.number or isinstance(event, Planned)):
        yield _new_turn(event, new)
        for ordinal, action in enumerate(new.actions, 1):
            yield Put(t.actions, _new_action(event, new.number, action, ordinal))
    elif new and old:
        yield from _same_turn(old, new, event)
    if isinstance(event, OutcomeEvent):
        yield from _late(counted(before, event.usage), event)


def _same_turn(old: Turn, new: Turn, event: SessionEvent) -> Iterator[Change]:
    """What became of its actions. Of a path, others may have taken the place of those that had not begun."""
    key = {"session_id": event.session_id, "turn": new.number}
    known = {action.spec.id: action for action in old.actions}
    if gone := known.keys() - {action.spec.id for action in new.actions}:
        for action_id in sorted(gone):
            yield patch(t.actions, key | {"id": action_id}, {"status": "superseded", "ended_at": event.at})
    ordinal = old.made
    for action in new.actions:
        was = known.get(action.spec.id)
        if was is None:
            ordinal += 1
            yield Put(t.actions, _new_action(event, new.number, action, ordinal))
        elif was != action:
            state = _action_state(action, event, was=was.shown_status)
            ruled = _specified(action) if action.spec != was.spec else {}
            yield patch(t.actions, key | {"id": action.spec.id}, ruled | state)


def _verdict(event: facts.TurnVerified) -> Values:
    same = event.model_dump(include={"next_action", "execution_analysis", "memory_analysis"})
    verdict = {"verdict_status": event.status, "verdict_reasoning": event.reasoning, "verdict_rule": event.rule}
    return same | verdict | {"verified_at": event.at}


def _turn_not_run(event: facts.TurnPlanned) -> Iterator[Change]:
    """Nothing was left to do, or the person had said something else meanwhile."""
    actions = tuple(Action(spec, "skipped", error=spec.decision_reason) for spec in event.actions)
    turn = Turn(event.turn, event.sub_goal, actions, event.actor, final=event.final, path=event.path)
    yield _new_turn(event, turn)
    for ordinal, action in enumerate(actions, 1):
        yield Put(t.actions, _new_action(event, event.turn, action, ordinal))


def _new_turn(event: SessionEvent, turn: Turn) -> Change:
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
        "recalled": [one.model_dump(mode="json") for one in planned.recalled] if planned else [],
        "path": _json(path_of(turn)),
    }
    return Put(t.turns, row | dict.fromkeys(VERDICT))


VERDICT = (
    "verdict_status",
    "next_action",
    "execution_analysis",
    "memory_analysis",
    "verdict_reasoning",
    "verdict_rule",
    "verified_at",
)
SPECIFIED = (
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
    """A row begins with its end where an action is not run, or was a person's own."""
    key = {"session_id": event.session_id, "turn": turn, "ordinal": ordinal}
    ran = {"duration_seconds": None, "started_at": None, "ended_at": event.at if action.status in DONE else None}
    return key | _specified(action) | ran | _came_of(action)


def _specified(action: Action) -> Values:
    spec = action.spec.model_dump(mode="json")
    return {name: spec[name] for name in SPECIFIED} | {"hash": action.hash}


def _came_of(action: Action) -> Values:
    artefact = action.artefact.model_dump(mode="json") if action.artefact else None
    told = {
        "status": action.shown_status,
        "result": action.result,
        "error": action.explanation,
        "tokens": action.tokens,
    }
    return told | {"artefact": artefact}


def _action_state(action: Action, event: SessionEvent, was: ActionStatus) -> Values:
    """The times are those of a change of status: model calls are told of while it runs, and afterwards."""
    state = _came_of(action)
    if action.shown_status == "started" != was:
        state["started_at"] = event.at
    elif action.status in DONE and action.status != was:
        state["ended_at"] = event.at
    if isinstance(event, facts.ActionsFinished) and action.status != was:
        state["duration_seconds"] = action.seconds
    return state


def _late(before: Session, event: OutcomeEvent) -> Iterator[Change]:
    """The actions that this event changes though they have outlived their turn."""
    how = outcomes.changes(event)
    for action in (one for one in before.left_running if one.spec.id in how):
        state = _action_state(how[action.spec.id](action), event, was=action.status)
        yield patch(t.actions, {"session_id": before.id, "id": action.spec.id}, state)
