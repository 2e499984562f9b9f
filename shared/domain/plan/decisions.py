"""The last decisions of a session's users: whoever decides second learns who was first, and what they decided. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from parley.events import SessionEvent, facts
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import USER_PREFIX

MAX_DECISIONS, MAX_NOTE = 20, 200
# A review competes with every other review, a halt with every command, the others only with commands listed below.
REVIEWS = {
    "plan.approved": "approved the plan",
    "plan.rejected": "rejected the plan",
    "plan.edited": "changed the plan",
    "code.approved": "approved the code",
    "code.rejected": "rejected the code",
    "code.edited": "changed the code",
    "approval.given": "approved it",
    "approval.denied": "declined it",
    "action.skipped": "skipped it",
    "message.received": "wrote",
}
HALTS = {
    "session.stopped": "stopped the session",
    "plan.cancelled": "cancelled the plan",
    "plan.deleted": "deleted the plan",
    "session.completed": "marked the session as done",
}
OTHERS = {
    "question.answered": "answered it",
    "budget.raised": "raised the budget",
    "session.retried": "started it again",
    "session.paused": "paused the session",
    "session.resumed": "let the session go on",
    "turn.requested": "requested what is done now",
    "turn.changed": "changed the path",
    "answer.judged": "judged the answer",
}
OFFERS = {
    "offer.kept": "kept what was there",
    "plan.drafted": "took the offer",
    "code.drafted": "took the offer",
    "turn.planned": "took the offer",
}
VERBS = REVIEWS | HALTS | OTHERS | OFFERS
_REVIEW_EVENTS = (*REVIEWS, "approval.expired")
COMPETING_EVENTS: dict[type[c.Command], tuple[str, ...]] = {
    **dict.fromkeys((c.Approve, c.Reject, c.EditPlan, c.EditCode, c.Skip), _REVIEW_EVENTS),
    **dict.fromkeys((c.TakeOffer, c.KeepOffer), tuple(OFFERS)),
    c.Answer: ("question.answered", "budget.raised", *_REVIEW_EVENTS),
    c.Retry: ("session.retried", "action.skipped", "message.received", "plan.edited", "plan.rejected"),
    c.Pause: ("session.paused",),
    c.Resume: ("session.resumed",),
    c.Run: ("turn.requested", *_REVIEW_EVENTS),
    c.TakeOver: ("turn.requested", "message.received"),
    c.EditPath: ("turn.changed", *_REVIEW_EVENTS),
    c.Judge: ("answer.judged", "message.received"),
}


@dataclass(frozen=True)
class Decision:
    """`about`: the id of the action or question, `v<version>` of a plan or code, "" for the session."""

    type: str
    actor: str
    at: datetime
    about: str = ""
    note: str = ""


def with_decision(decisions: tuple[Decision, ...], event: SessionEvent) -> tuple[Decision, ...]:
    """The last decisions after this event."""
    match event:
        case facts.MessageReceived(version=version, intent=intent) if version == 1 or intent == "remark":
            return decisions
        case facts.ApprovalExpired():
            subjects = event.denied or (event.unanswered or "",)
        case _ if event.type in VERBS and event.actor.startswith(USER_PREFIX):
            subjects = (_subject(vars(event)),)
        case _:
            return decisions
    note = str(getattr(event, "reason", "") or getattr(event, "text", ""))[:MAX_NOTE]
    new = (Decision(event.type, event.actor, event.at, subject, note) for subject in subjects)
    return (*decisions, *new)[-MAX_DECISIONS:]


def _subject(fields: Mapping[str, Any]) -> str:
    if offer := fields.get("offer"):
        return f"v{offer}"
    version = next((fields[name] for name in ("plan_version", "code_version", "base_version") if name in fields), None)
    return f"v{version}" if version else str(fields.get("action_id") or fields.get("question_id") or "")


def who_decided_first(decisions: Sequence[Decision], command: object, actor: str) -> str:
    """Who decided before this refused command, and what, as a sentence; "" if nobody did."""
    named = getattr(command, "action_id", None)
    version = getattr(command, "version", None) or getattr(command, "base", None)
    about = named or (f"v{version}" if version else "")
    decision = next((decision for decision in reversed(decisions) if about and decision.about == about), None)
    if decision is None and decisions:
        competing = (*COMPETING_EVENTS.get(type(command), ()), *HALTS) if isinstance(command, c.Command) else ()
        decision = decisions[-1] if decisions[-1].type in competing else None
    return _sentence(decision, actor) if decision else ""


def _sentence(decision: Decision, actor: str) -> str:
    if decision.type == "approval.expired":
        return "Nobody decided in time, so it was declined."
    who = "You" if decision.actor == actor else decision.actor.removeprefix(USER_PREFIX)
    is_own_words = decision.note and decision.type != "action.skipped"  # the reason of a skip is the log's
    note = f": “{decision.note}”" if is_own_words else ""
    return f"{who} {VERBS[decision.type]}{note}."
