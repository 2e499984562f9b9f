"""The row changes of one event: a pure function of the event and the session before and after it."""

from collections.abc import Iterator

from pydantic import BaseModel, JsonValue
from sqlalchemy import Table

from parley.events import SessionEvent, facts
from parley.events.values import ModelCall
from services.plan_store import tables as t
from services.plan_store.database import RowChange, Upsert, Values, update_rows
from services.plan_store.projection.history import FoldedMessage
from services.plan_store.projection.recall_rows import begins_request, library_changes, memory_changes, proposal_changes
from shared.domain.kernel.session import Session
from shared.domain.workflows.flow import path_of

PREVIEW = 300


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
