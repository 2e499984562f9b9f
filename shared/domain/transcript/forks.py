"""Forks: what a session hands over to its fork, and the session that the fork begins as."""

import json

from parley.events import facts
from parley.events.carried import Carried, CarriedCode, CarriedEntry, CarriedPlan
from parley.events.values import Knowledge
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import MAX_WORDS_BYTES, Counts, Session, SessionAnswer
from shared.domain.kernel.state import Code, Plan
from shared.domain.transcript.compaction import newest_within
from shared.domain.transcript.dialogue import TranscriptEntry, UnreadMessage, Words
from shared.domain.turn.batches import leave_turn


def carry_over(session: Session) -> Carried:
    """What a fork takes over: plan, code, messages, summary; not approvals, work, evidence, usage, policies, sharing.

    The newest knowledge and messages are kept up to a size as JSON, so that the fork fits into one event.
    """
    return Carried(
        title=session.title,
        workflow=session.workflow,
        settings=session.settings,
        time_zone=session.time_zone or None,
        knowledge=newest_within(session.words.knowledge, MAX_WORDS_BYTES, _json),
        request=session.words.request,
        transcript=tuple(CarriedEntry(by=entry.by, kind=entry.kind, text=entry.text) for entry in session.transcript),
        unread=tuple(message.text for message in session.words.unread),
        plan=_carried_plan(session.plan) if session.plan else None,
        plan_number=session.counts.plans,
        code=_carried_code(session.code) if session.code and _current(session) else None,
        code_number=session.counts.codes,
        answer=session.answer.text,
        confidence=session.answer.confidence,
        flow_states=leave_turn(session).flow_results,
        subject=session.subject,
        subjects=session.subjects,
        files=session.files,
    )


def _current(session: Session) -> bool:
    """Whether the code is in review or approved, and was written for the current plan."""
    plan, code = session.plan, session.code
    return bool(plan and code and code.status in ("review", "approved") and code.plan_version == plan.version)


def _carried_plan(plan: Plan) -> CarriedPlan:
    return CarriedPlan(
        kind=plan.kind,
        goal=plan.goal,
        steps=plan.steps,
        notes=plan.notes,
        author=plan.by,
        path=plan.path,
        task=plan.task,
        checks=plan.checks,
        wishes=plan.wishes,
    )


def _carried_code(code: Code) -> CarriedCode:
    return CarriedCode(
        code=code.code, explanation=code.explanation, author=code.by, checks=code.checks, tests=code.tests
    )


def _json(value: str | Knowledge) -> str:
    return json.dumps(value if isinstance(value, str) else value.model_dump(), ensure_ascii=False)


def session_forked(event: facts.SessionForked) -> Session:
    """The session that begins with the event.

    Plan and code get version 1, the fork's own: the parent's numbers could collide with later versions of the fork.
    """
    carried = event.carried
    fork = Session(
        event.session_id,
        owner=event.actor.removeprefix(USER_PREFIX),
        title=carried.title,
        workflow=carried.workflow,
        settings=carried.settings,
        time_zone=carried.time_zone or "",
        parent_id=event.parent_id,
        words=Words(
            request=carried.request,
            knowledge=carried.knowledge,
            unread=tuple(UnreadMessage(event.version, text) for text in carried.unread),
        ),
        transcript=tuple(TranscriptEntry(event.version, each.by, each.kind, each.text) for each in carried.transcript),
        plan=_plan(event, carried.plan) if carried.plan else None,
        code=_code(event, carried.code) if carried.plan and carried.code else None,
        answer=SessionAnswer(carried.answer, carried.confidence),
        flow_results=carried.flow_states,
        files=carried.files,
        subject=carried.subject,
        subjects=carried.subjects,
        counts=Counts(plans=carried.plan_number, codes=carried.code_number),
    )
    return replace(fork, task=fork.plan.task) if fork.plan else fork


def _plan(event: facts.SessionForked, plan: CarriedPlan) -> Plan:
    return Plan(
        version=event.version,
        number=event.carried.plan_number,
        kind=plan.kind,
        goal=plan.goal,
        steps=plan.steps,
        notes=plan.notes,
        by=plan.author,
        path=plan.path,
        task=f"t{event.version}" if plan.task else "",
        checks=plan.checks,
        wishes=plan.wishes,
    )


def _code(event: facts.SessionForked, code: CarriedCode) -> Code:
    return Code(
        version=event.version,
        number=event.carried.code_number,
        plan_version=event.version,
        code=code.code,
        explanation=code.explanation,
        by=code.author,
        status="review",
        checks=code.checks,
        tests=code.tests,
    )
