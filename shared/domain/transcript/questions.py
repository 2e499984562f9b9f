"""How questions to the user and their answers evolve a session."""

from typing import assert_never

from parley.events import facts
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import SERVICE_OF, AskedBeside, Session, enter_idle_phase, enter_phase
from shared.domain.kernel.state import ActionStatus
from shared.domain.steps.waiting_steps import resume_plan
from shared.domain.transcript.dialogue import OpenQuestion
from shared.domain.transcript.messages import answer_unread, begins_round, next_round, resume_asker, with_message
from shared.domain.turn.batches import advance, mark_actions, new_attempt
from shared.domain.turn.turns import resume_phase


def question_asked(session: Session, event: facts.QuestionAsked) -> Session:
    """The user is due. The answer to a service's question leads back to the phase that asked.

    The answer to a question in reply to a message leads to the draft that was asked for. If more budget is asked for,
    the message is answered once it is raised.
    """
    if event.kind == "turns" and session.words.unread:  # the person has just said something
        return enter_phase(session, "planning", event.version)
    question = OpenQuestion(
        event.question_id,
        event.kind,
        event.text,
        event.options,
        event.form,
        event.version,
        several=event.several,
        further=event.further,
    )
    if event.kind == "action":
        session = mark_actions(session, [event.question_id], "asked")
    stage = session.phase if event.kind in ("request", "budget", "turns") else None
    beside = None
    if session.reply and session.reply.service == event.actor:
        if session.phase not in SERVICE_OF:
            beside = AskedBeside(session.phase, session.resume_phase, begins_round(session))
        if event.kind == "request":
            stage = "coding" if session.reply.service == "generator" else "planning"
        session = replace(session, reply=None)
    asked = replace(enter_idle_phase(session, "awaiting_input"), question=question)
    return replace(asked, resume_phase=stage, asked_beside=beside)


def question_answered(session: Session, event: facts.QuestionAnswered) -> Session:
    question = session.question
    if question is None:
        return session
    match question.about:
        case "continue":
            return next_round(session, event.text, event.version)
        case "action":
            is_input = session.turn is not None and session.turn.rules.answers_are_input
            status: ActionStatus = "approved" if is_input else "finished"
            return advance(mark_actions(session, [event.question_id], status, result=event.text), event.version)
        case "uncertain":
            return advance(_resolve_uncertain(session, event), event.version)
        case "request" | "turns":
            return _asker_answered(session, question, event)
        case "budget":
            return resume_phase(session, session.resume_phase or "planning", event.version)
    assert_never(question.about)


def _asker_answered(session: Session, question: OpenQuestion, event: facts.QuestionAnswered) -> Session:
    if event.key == "answer":  # with what there is, instead of going on
        return enter_phase(session, "answering", event.version)
    said = with_message(session, event.version, "\n".join((event.text, *event.more)))
    following = question.after(1 + len(event.more))
    return replace(said, question=following) if following else resume_asker(said, event.version)


def budget_answered(session: Session, version: int) -> Session:
    """The work that asked for more budget goes on, or the message is answered for which it was asked."""
    at, phase = session.asked_beside, session.resume_phase or "planning"
    return answer_unread(return_beside(session, at, version) if at else resume_phase(session, phase, version), version)


def return_beside(session: Session, at: AskedBeside, version: int) -> Session:
    """The session as it was when a service asked in reply to a message; steps of a plan go on."""
    if session.turn and at.phase == "awaiting_approval":
        return replace(resume_phase(session, at.phase, version), resume_phase=at.resume_phase)
    return resume_plan(replace(enter_idle_phase(session, at.phase), resume_phase=at.resume_phase), version)


def _resolve_uncertain(session: Session, event: facts.QuestionAnswered) -> Session:
    """Applies the user's answer about an action whose effect is uncertain."""
    if event.key == "again":
        return new_attempt(session, [event.question_id], "approved")
    if event.key == "happened":
        return mark_actions(session, [event.question_id], "finished", error="")
    return mark_actions(session, [event.question_id], "uncertain", left=True)
