"""A fork: what a session hands on, and the session that begins with it."""

import json

from parley.events import facts
from parley.events.carried import Carried, CarriedCode, CarriedPlan, EarlierRound
from parley.events.values import Knowledge
from shared.domain.changing import replace
from shared.domain.session import WORDS_KEPT, Answer, Counts, Session, Words, newest, set_aside, settle
from shared.domain.state import Code, Plan, Round
from shared.domain.waves import leave_turn


def carried(session: Session) -> Carried:
    """Plan, code, words and summary go on; approvals, work, evidence, spending, policies and sharing do not.

    Knowledge and words are bounded by their size as JSON, the newest first: the fork has to fit into one event.
    """
    session = set_aside(session)
    words = newest((*session.words.feedback, *session.words.unread), WORDS_KEPT, _json)
    unread = session.words.unread[-len(words) :]
    return Carried(
        title=session.title,
        workflow=session.workflow,
        settings=session.settings,
        knowledge=newest(session.words.knowledge, WORDS_KEPT, _json),
        request=session.words.request,
        rounds=tuple(EarlierRound(request=one.request, outcome=one.outcome) for one in session.words.earlier),
        feedback=words[: len(words) - len(unread)],
        unread=unread,
        plan=_carried_plan(session.plan) if session.plan else None,
        plan_number=session.counts.plans,
        code=_carried_code(session.code) if session.code and _current(session) else None,
        code_number=session.counts.codes,
        answer=session.answer.text,
        confidence=session.answer.confidence,
        flow_states=leave_turn(session).flow_results,
        files=session.files,
    )


def _current(session: Session) -> bool:
    """Whether the program is one that a person may approve, and is for the plan at hand."""
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
    )


def _carried_code(code: Code) -> CarriedCode:
    return CarriedCode(
        code=code.code, explanation=code.explanation, author=code.by, checks=code.checks, tests=code.tests
    )


def _json(value: str | Knowledge) -> str:
    return json.dumps(value if isinstance(value, str) else value.model_dump(), ensure_ascii=False)


def forked(event: facts.SessionForked) -> Session:
    """The session that begins with what the event holds.

    Plan and code get version 1, the fork's own: by their parent's numbers a later version of the fork could be meant.
    """
    had = event.carried
    fork = Session(
        event.session_id,
        owner=event.actor.removeprefix("user:"),
        title=had.title,
        workflow=had.workflow,
        settings=had.settings,
        parent_id=event.parent_id,
        words=Words(
            request=had.request,
            earlier=tuple(Round(one.request, one.outcome) for one in had.rounds),
            knowledge=had.knowledge,
            feedback=had.feedback,
            unread=had.unread,
        ),
        plan=_plan(event, had.plan) if had.plan else None,
        code=_code(event, had.code) if had.plan and had.code else None,
        answer=Answer(had.answer, had.confidence),
        flow_results=had.flow_states,
        files=had.files,
        counts=Counts(plans=had.plan_number, codes=had.code_number),
    )
    task = fork.plan.task if fork.plan else ""
    return settle(replace(fork, task=task), "awaiting_approval" if fork.plan else "resting")


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
