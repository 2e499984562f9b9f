"""Every call of a session with its outcome, and every decision of a person, for exports. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, Artefact, Effect
from parley.protocol import journal as j
from parley.protocol.views import View
from services.gateway.views.notes import preapproved
from shared.domain.actors import USER_PREFIX
from shared.domain.wording import SKIPPED_WITH


class DecisionRecord(View):
    """A decision of a person. `version`: of the event. `hash`: of the approved content.

    It is about the plan or code with this `number` and `of_version`, or about an action with its tool and its arguments
    at that time.
    """

    at: datetime
    by: str
    version: int
    decision: Literal["approved", "declined", "expired", "skipped", "discarded"]
    about: Literal["plan", "code", "action"]
    number: int = 0
    of_version: int | None = None
    hash: str = ""
    action_id: str = ""
    tool: str = ""
    arguments: dict[str, JsonValue] | None = None
    reason: str = ""


class CallRecord(View):
    """One tool call, or one step of a plan or path. `approved_by` is also set if its whole plan was approved.

    `gist`: the outcome in a few words. If the result is too large for an event, `result` is its beginning and
    `artefact` names the whole. `given`: it was skipped, and a person gave the `result` instead.
    """

    id: str
    turn: int
    tool: str
    description: str
    arguments: dict[str, JsonValue]
    effect: Effect
    status: j.ActionState
    gist: str
    decided_by: str
    approved_by: str
    approved_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float
    result: JsonValue
    error: str
    artefact: Artefact | None
    given: bool = False


class ApprovalRecord(NamedTuple):
    by: str
    at: datetime


def calls(entries: Sequence[j.AnyEntry], events: Sequence[SessionEvent]) -> dict[str, CallRecord]:
    """Calls by action id, in the planned order, without dropped ones."""
    by_version = {event.version: event for event in events}
    approvals: dict[str, ApprovalRecord] = {}
    started: dict[str, datetime] = {}
    finished: dict[str, datetime] = {}
    for event in events:
        approvals |= {action_id: ApprovalRecord(event.actor, event.at) for action_id in _approved(event)}
        started |= dict.fromkeys(_started(event), event.at)
        finished |= dict.fromkeys(_results(event), event.at)
    return {
        entry.action_id: _call(entry, by_version, approvals, started, finished)
        for entry in entries
        if isinstance(entry, j.ActionEntry) and entry.state != "dropped"
    }


def _call(
    entry: j.ActionEntry,
    events: Mapping[int, SessionEvent],
    approvals: Mapping[str, ApprovalRecord],
    started: Mapping[str, datetime],
    finished: Mapping[str, datetime],
) -> CallRecord:
    spec = planned_specs(events.get(entry.spec_in)).get(entry.action_id) or ActionSpec(
        id=entry.action_id, tool=entry.tool
    )
    whole_step = approvals.get(entry.action_id.partition("[")[0]) if spec.approval_reason is None else None
    approval = approvals.get(entry.action_id) or whole_step
    result_event = events.get(entry.result_in) if entry.result_in else None
    return CallRecord(
        id=entry.action_id,
        turn=entry.turn,
        tool=entry.tool,
        description=spec.description,
        arguments=spec.arguments,
        effect=spec.effect,
        status=entry.state,
        gist=entry.gist,
        decided_by=entry.decided_by,
        approved_by=approval.by if approval else "",
        approved_at=approval.at if approval else None,
        started_at=started.get(entry.action_id),
        finished_at=finished.get(entry.action_id),
        seconds=entry.seconds,
        result=_results(result_event).get(entry.action_id),
        error=entry.error,
        artefact=entry.artefact,
        given=isinstance(result_event, facts.ActionSkipped),
    )


def planned_specs(event: SessionEvent | None) -> dict[str, ActionSpec]:
    """The actions that this event plans, by id, including values that a person set in a flow's state."""
    match event:
        case facts.TurnPlanned() | facts.TurnRequested() | facts.PlanApproved():
            return {spec.id: spec for spec in event.actions}
        case facts.TurnChanged():
            planned = {spec.id: spec for spec in event.actions}
            if event.override_id:
                planned[event.override_id] = ActionSpec(id=event.override_id, tool="person", arguments=event.overrides)
            return planned
        case _:
            return {}


def _approved(event: SessionEvent) -> tuple[str, ...]:
    """The actions that this event approves. Actions of a plan that need their own approval are not among them."""
    match event:
        case facts.ApprovalGiven():
            return (event.action_id,)
        case facts.PlanApproved():
            new = (spec for spec in event.actions if spec.id not in event.already_done)
            return tuple(spec.id for spec in new if spec.approval_reason is None)
        case _:
            return ()


def _started(event: SessionEvent) -> tuple[str, ...]:
    started = tuple(action.action_id for action in event.actions) if isinstance(event, facts.ActionsStarted) else ()
    return (*started, *event.begins)


def _results(event: SessionEvent | None) -> dict[str, JsonValue]:
    match event:
        case facts.ActionsFinished():
            return {outcome.action_id: outcome.result for outcome in event.outcomes}
        case facts.QuestionAnswered(kind="action"):
            return {event.question_id: event.text}
        case facts.TurnChanged(override_id=str()):
            return {event.override_id or "": event.overrides}
        case facts.ActionSkipped():
            return {event.action_id: event.output}
        case _:
            return {}


def decisions(events: Sequence[SessionEvent]) -> tuple[DecisionRecord, ...]:
    """The decisions in order."""
    known: dict[str, ActionSpec] = {}
    records: list[DecisionRecord] = []
    for event in events:
        known |= planned_specs(event)
        records += _decisions(event, known)
    return tuple(records)


def _decisions(event: SessionEvent, known: Mapping[str, ActionSpec]) -> Iterator[DecisionRecord]:
    who: dict[str, Any] = {"at": event.at, "by": event.actor, "version": event.version}
    match event:
        case facts.PlanApproved() | facts.PlanRejected():
            what = {"of_version": event.plan_version, "number": event.number}
            allowed = preapproved(event).removeprefix(", ") if isinstance(event, facts.PlanApproved) else ""
            yield DecisionRecord(**who, **_verdict(event), **what, about="plan", reason=allowed)
        case facts.CodeApproved() | facts.CodeRejected():
            yield DecisionRecord(
                **who, **_verdict(event), about="code", of_version=event.code_version, number=event.number
            )
        case facts.PlanCancelled():
            yield DecisionRecord(**who, about="plan", of_version=event.plan_version, decision="discarded")
        case facts.ApprovalGiven():
            yield DecisionRecord(**who, **_action(event.action_id, known), decision="approved", hash=event.hash)
        case facts.ApprovalDenied():
            yield DecisionRecord(**who, **_action(event.action_id, known), decision="declined", reason=event.reason)
        case facts.ActionSkipped() if event.actor.startswith(USER_PREFIX):
            yield DecisionRecord(**who, **_action(event.action_id, known), decision="skipped", reason=event.reason)
            for dependent in event.dependents:
                yield DecisionRecord(**who, **_action(dependent, known), decision="skipped", reason=SKIPPED_WITH)
        case facts.ApprovalExpired():
            for action_id in event.denied:
                yield DecisionRecord(**who, **_action(action_id, known), decision="expired")


def _verdict(
    event: facts.PlanApproved | facts.PlanRejected | facts.CodeApproved | facts.CodeRejected,
) -> dict[str, Any]:
    if isinstance(event, facts.PlanApproved | facts.CodeApproved):
        return {"decision": "approved", "hash": event.hash}
    return {"decision": "declined"}


def _action(action_id: str, known: Mapping[str, ActionSpec]) -> dict[str, Any]:
    spec = known.get(action_id)
    call = {"tool": spec.tool, "arguments": spec.arguments} if spec else {}
    return {"about": "action", "action_id": action_id} | call
