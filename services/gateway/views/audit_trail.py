"""A session's journal for exports: its entries in their final state, and every decision of a person. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from parley.events import SessionEvent
from parley.protocol import journal as j
from shared.domain.turn.action_ids import ActionId
from shared.journal.entries import entries

_CALL_FIELDS = (
    *("turn", "tool", "description", "arguments", "effect", "gist", "decided_by", "approved_by", "approved_at"),
    *("started_at", "finished_at", "seconds", "result", "error", "artefact", "given"),
)


class DecisionRecord(j.DecisionEntry):
    """A decision about an action has its tool, and its arguments at that time."""

    tool: str = ""
    arguments: dict[str, JsonValue] | None = None


class AuditTrail(NamedTuple):
    """The entries say who approved a call, also if its whole plan was approved before its arguments were known."""

    entries: tuple[j.AnyEntry, ...]
    decisions: tuple[DecisionRecord, ...]

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every tool call, and every step of a plan or path, in the planned order, as JSON."""
        return [_call(entry) for entry in self.entries if isinstance(entry, j.ActionEntry) and entry.state != "dropped"]


def audit_trail(events: Iterable[SessionEvent]) -> AuditTrail:
    journal: j.EntriesByKey = {}
    approvals: dict[str, dict[str, Any]] = {}
    decisions: list[DecisionRecord] = []
    for entry in (entry for event in events for entry in entries(event)):
        j.apply_entries(journal, (entry,))
        if isinstance(entry, j.DecisionEntry):
            decisions.append(_decision(entry, journal.get(f"action:{entry.action_id}")))
        if approval := _approval(journal.get(entry.key, {})):
            approvals[journal[entry.key]["action_id"]] = approval
    final = map(j.read_entry, journal.values())
    return AuditTrail(tuple(_with_approval(entry, approvals) for entry in final), tuple(decisions))


def _decision(entry: j.DecisionEntry, action: Mapping[str, Any] | None) -> DecisionRecord:
    call = {"tool": action["tool"], "arguments": action.get("arguments", {})} if action else {}
    return DecisionRecord(**entry.model_dump(), **call)


def _approval(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("approved_by", "approved_at")} if entry.get("approved_by") else {}


def _with_approval(entry: j.AnyEntry, approvals: Mapping[str, dict[str, Any]]) -> j.AnyEntry:
    """An approval stays when the action's entry is replaced. A step's is that of its call for each item of a list."""
    if not isinstance(entry, j.ActionEntry):
        return entry
    whole_step = approvals.get(ActionId.parse(entry.action_id).whole, {}) if entry.approval is None else {}
    approval = approvals.get(entry.action_id, whole_step)
    return j.read_entry(entry.model_dump() | approval) if approval else entry


def _call(entry: j.ActionEntry) -> dict[str, Any]:
    fields = {name: getattr(entry, name) for name in _CALL_FIELDS}
    call: dict[str, Any] = to_jsonable_python({"id": entry.action_id, "status": entry.state, **fields})
    return call
