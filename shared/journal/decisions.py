"""Decisions of people about plans, code, actions and answers, as journal entries. They depend on the event alone."""

from collections.abc import Iterable, Iterator
from typing import Any

from parley.events import SessionEvent, facts
from parley.protocol import journal as j
from parley.protocol.words import NOTES
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.wording import SKIPPED_WITH
from shared.journal.action_updates import entry_fields


def decisions(event: SessionEvent) -> Iterator[j.DecisionEntry]:
    """What a person decided, or did not decide in time."""
    match event:
        case facts.PlanApproved():
            reason = preapproved(event).removeprefix(", ")
            yield _approved(event, "plan", event.plan_version, text=_plan_approved(event), reason=reason)
        case facts.CodeApproved():
            yield _approved(event, "code", event.code_version, text=_with_number("code_approved", event.number))
        case facts.PlanRejected():
            yield _declined(event, "plan", event.plan_version)
        case facts.CodeRejected():
            yield _declined(event, "code", event.code_version)
        case facts.PlanCancelled():
            text = NOTES[event.type]
            yield _decision(event, "discarded", "plan", of_version=event.plan_version, tone="bad", text=text)
        case facts.AnswerJudged():
            yield _judged(event)
        case _:
            yield from _action_decisions(event)


def _action_decisions(event: SessionEvent) -> Iterator[j.DecisionEntry]:
    match event:
        case facts.ApprovalGiven():
            yield from _about_actions(event, "approved", (event.action_id,), hash=event.hash)
        case facts.ApprovalDenied():
            yield from _about_actions(event, "declined", (event.action_id,), reason=event.reason)
        case facts.ApprovalExpired():
            yield from _about_actions(event, "expired", event.denied)
        case facts.ActionSkipped() if event.actor.startswith(USER_PREFIX):
            yield from _about_actions(event, "skipped", (event.action_id,), reason=event.reason)
            yield from _about_actions(event, "skipped", event.dependents, reason=SKIPPED_WITH)


def _decision(event: SessionEvent, decision: str, about: str, *, key: str = "", **fields: Any) -> j.DecisionEntry:
    content = {"decision": decision, "about": about, **fields}
    return j.DecisionEntry(**entry_fields(event, f"decision:{key or event.version}"), **content)


def _approved(
    event: facts.PlanApproved | facts.CodeApproved, about: str, of_version: int, **words: str
) -> j.DecisionEntry:
    number, approved = event.number, event.hash
    return _decision(
        event, "approved", about, number=number, of_version=of_version, hash=approved, tone="good", **words
    )


def _declined(event: facts.PlanRejected | facts.CodeRejected, about: str, of_version: int) -> j.DecisionEntry:
    text = _with_number(f"{about}_{'replanned' if event.replan else 'declined'}", event.number)
    return _decision(event, "declined", about, number=event.number, of_version=of_version, text=text)


def _judged(event: facts.AnswerJudged) -> j.DecisionEntry:
    decision, tone = ("approved", "good") if event.accepted else ("declined", "bad")
    line = "saved" if event.saved else "accepted" if event.accepted else "not_accepted"
    return _decision(event, decision, "answer", saved=event.saved, tone=tone, text=NOTES[f"answer_{line}"])


def _about_actions(
    event: SessionEvent, decision: str, action_ids: Iterable[str], **fields: str
) -> Iterator[j.DecisionEntry]:
    for action_id in action_ids:
        yield _decision(event, decision, "action", key=f"{event.version}.{action_id}", action_id=action_id, **fields)


def _plan_approved(event: facts.PlanApproved) -> str:
    line = "plan_approved_later" if event.deferred else "plan_approved"
    return _with_number(line, event.number) + preapproved(event)


def _with_number(line: str, number: int) -> str:
    return NOTES[line].format(number=number or "").strip()


def preapproved(event: facts.PlanApproved) -> str:
    """The steps that the approval allows with any values, as the end of a sentence; "" for none."""
    return NOTES["preapproved"].format(steps=", ".join(event.preapproved)) if event.preapproved else ""
