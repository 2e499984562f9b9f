"""Whom a session is about, as far as tools tell. What came of its work is recalled only where that may be known."""

from parley.events import SessionEvent, facts
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.workflows import WORKFLOWS
from shared.domain.workflows.agentflow import AGENTFLOW


def memory_subject(session: Session) -> str | None:
    """The subject whose sessions may recall this session's work: "" for any session, None for no session at all."""
    if session.subjects == "none":
        return ""
    return (session.subject or None) if session.subjects == "possible" else None


def recall_subject(session: Session) -> str:
    """The subject whose earlier work this session may recall; "" if it is not known, or if there are several."""
    return memory_subject(session) or ""


def with_subjects(before: Session, after: Session, event: SessionEvent) -> Session:
    """The session after the event, with what the event tells of subjects."""
    if after.words.request_version != before.words.request_version and after.subjects in ("unstated", "none"):
        calls = WORKFLOWS.get(after.workflow, AGENTFLOW).steps_call
        after = replace(after, subjects="unstated" if calls else "none")
    match event:
        case facts.PlanDrafted() | facts.TurnPlanned(plan_version=None):
            return _with_statement(after, tells=event.tells_subjects)
        case facts.ActionsFinished():
            for outcome in event.outcomes:
                after = _with_subject(after, outcome.subject)
        case facts.ActionWaited():
            after = _with_subject(after, event.subject)
    return after


def _with_statement(session: Session, *, tells: bool) -> Session:
    open_to = ("unstated", "none") if tells else ("unstated",)
    return replace(session, subjects="possible" if tells else "none") if session.subjects in open_to else session


def _with_subject(session: Session, subject: str | None) -> Session:
    if not subject:
        return session if subject is None else _with_statement(session, tells=True)
    several = session.subjects == "several" or session.subject not in ("", subject)
    return replace(session, subject=subject, subjects="several" if several else "possible")
