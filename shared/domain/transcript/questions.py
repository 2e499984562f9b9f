"""How questions to the user and their answers evolve a session."""

from typing import assert_never

from parley.events import facts
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import SERVICE_OF, AskedBeside, Phase, Session
from shared.domain.kernel.state import ActionStatus
from shared.domain.transcript.dialogue import OpenQuestion
from shared.domain.transcript.messages import asker_answered, begins_round, next_round, with_message
from shared.domain.turn.batches import mark_actions, new_attempt


def question_asked(session: Session, event: facts.QuestionAsked) -> Session:
    """The session with the question, which ends the reply that a service owed."""
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
    beside = None
    if session.reply and session.reply.service == event.actor:
        if session.phase not in SERVICE_OF:
            beside = AskedBeside(session.phase, session.resume_phase, begins_round(session))
        session = replace(session, reply=None)
    return replace(session, question=question, asked_beside=beside)


def asking_phase(session: Session, event: facts.QuestionAsked) -> Phase | None:
    """The phase that the answer to a service's question leads back to.

    The answer to a question in reply to a message leads to the draft that was asked for. If more budget is asked for,
    the message is answered once it is raised.
    """
    if event.kind == "request" and session.reply and session.reply.service == event.actor:
        return "coding" if session.reply.service == "generator" else "planning"
    return session.phase if event.kind in ("request", "budget", "turns") else None


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
            return mark_actions(session, [event.question_id], status, result=event.text)
        case "uncertain":
            return _resolve_uncertain(session, event)
        case "request" | "turns" if event.key != "answer":
            said = with_message(session, event.version, "\n".join((event.text, *event.more)))
            following = next_question(session, event)
            return replace(said, question=following) if following else asker_answered(said, event.version)
        case "request" | "turns" | "budget":
            return session
    assert_never(question.about)


def next_question(session: Session, event: facts.QuestionAnswered) -> OpenQuestion | None:
    """The question that is open after this answer, of those that were asked together."""
    return session.question.after(1 + len(event.more)) if session.question else None


def _resolve_uncertain(session: Session, event: facts.QuestionAnswered) -> Session:
    """Applies the user's answer about an action whose effect is uncertain."""
    if event.key == "again":
        return new_attempt(session, [event.question_id], "approved")
    if event.key == "happened":
        return mark_actions(session, [event.question_id], "finished", error="")
    return mark_actions(session, [event.question_id], "uncertain", left=True)
