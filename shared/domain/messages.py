"""How a user's messages evolve a session: requests, feedback, guidance during work, remarks, answers to questions.

The session keeps every message until a draft takes it in, up to `MAX_WORDS_BYTES`. Beyond that the oldest ones are
only in the journal.
"""

from typing import assert_never

from parley.events import facts
from shared.domain import commands as c
from shared.domain.actors import USER_PREFIX
from shared.domain.batches import advance, leave_turn, mark_actions, new_attempt, read_unread_messages, running_actions
from shared.domain.fast_replace import replace
from shared.domain.memory import begin_request
from shared.domain.newest_within import newest_within
from shared.domain.plan_steps import is_unfinished
from shared.domain.session import (
    MAX_ROUNDS,
    MAX_WORDS_BYTES,
    SERVICE_OF,
    NextDraft,
    Phase,
    Remark,
    Session,
    SessionAnswer,
    before_remark,
    defer_remark,
    enter_idle_phase,
    enter_phase,
    review_target,
    with_code,
    with_next_draft,
    with_plan,
    with_words,
)
from shared.domain.state import ActionStatus, AnsweredQuestion, OpenQuestion, Plan, Round
from shared.domain.turns import resume_phase

MAX_TEXT = 50_000  # characters of a service's reply
MAX_DIALOGUE = 20  # answered questions that prompts include
CHAT_HISTORY = "conversation"  # name of the knowledge that holds the earlier messages of a chat
MAX_REASON = 500  # characters of the message that led to a draft
MAX_SUMMARY = 400  # characters each of an earlier request and of its outcome, as prompts include them
REMARK_PHASES: tuple[Phase, ...] = (
    "awaiting_approval",
    "waiting",
    "resting",
)  # phases in which a message may ask for nothing but an answer


def message_received(session: Session, event: facts.MessageReceived) -> Session:
    known = newest_within(
        (*session.words.knowledge, *event.knowledge), MAX_WORDS_BYTES, lambda known: known.name + known.text
    )
    informed = replace(with_words(session, knowledge=known, reply=""), time_zone=event.time_zone or session.time_zone)
    if event.intent == "remark" and before_remark(session).phase in REMARK_PHASES:
        return _add_remark(informed, event.text, event.version)
    if event.intent == "guidance" or (event.intent == "remark" and session.phase in SERVICE_OF):
        return _add_guidance(informed, event)
    if event.intent in ("feedback", "remark"):
        return _add_feedback(informed, (event.text,), event.version)
    settings = replace(
        defer_remark(informed),
        owner=session.owner or event.owner or event.actor.removeprefix(USER_PREFIX),
        title=session.title or (event.text.strip().splitlines() or ["Untitled"])[0][:80],
        workflow=event.workflow or session.workflow,
        settings=event.settings or session.settings,
    )
    started = _next_round(settings, event.text, event.version)
    return enter_idle_phase(started, "resting") if event.brings_plan else started


def _add_guidance(session: Session, event: facts.MessageReceived) -> Session:
    """A message while a service works: the next draft takes it in. Steps of a plan wait until it is answered.

    While steps run, the message waits until the batch has ended.
    """
    if session.words.remark and session.words.remark.phase in SERVICE_OF:
        return _add_remark(session, event.text, event.version)
    with_message = with_words(session, unread=newest_within((*session.words.unread, event.text), MAX_WORDS_BYTES))
    return with_message if running_actions(with_message) else read_unread_messages(with_message, event.version)


def _add_remark(session: Session, text: str, version: int) -> Session:
    """Makes the planner or generator due, and changes nothing else. A second remark is answered with the first."""
    at = before_remark(session)
    remark = session.words.remark or Remark((), at.phase, at.resume_phase)
    remark = replace(remark, texts=newest_within((*remark.texts, text), MAX_WORDS_BYTES))
    coding = at.phase == "awaiting_approval" and review_target(at) == "code"
    return enter_phase(with_words(session, remark=remark), "coding" if coding else "planning", version)


def stop_takes_back_remark(session: Session) -> bool:
    """Whether a stop only withdraws the remark that is being answered. Otherwise it stops the plan's steps."""
    return session.words.remark is not None and session.words.remark.phase not in SERVICE_OF


def chat_history(session: Session) -> str:
    """The earlier messages of a chat, as `role: text`."""
    return "\n\n".join(known.text for known in session.words.knowledge if known.name == CHAT_HISTORY)


def begins_round(session: Session) -> bool:
    """Whether a draft that takes the remark in begins a new round: at rest, only an unfinished plan can be revised."""
    at_rest = session.words.remark is not None and session.words.remark.phase == "resting"
    return at_rest and not is_unfinished(before_remark(session))


def drafting_session(session: Session) -> Session:
    """The session that the next draft is based on: the remark is taken in."""
    return take_in_remark(session, session.version, begins_round=begins_round(session))


def draft_reason(session: Session, *, first: bool) -> str:
    """The beginning of the message that leads to the next draft: the request, or the feedback since the last draft."""
    text = ("" if first else "\n".join(session.words.feedback)) or session.words.request
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"


def reply_in_words(session: Session, text: str) -> c.AnswerRemark | c.Ask:
    """A service's reply instead of a draft: the answer to the remark, or else a question to the user."""
    return c.AnswerRemark(text=text[:MAX_TEXT]) if session.words.remark else c.Ask(text=text[:MAX_TEXT])


def take_in_remark(session: Session, version: int, *, begins_round: bool) -> Session:
    """The session with its remark turned into feedback on what is in review, or into a new request."""
    if (remark := session.words.remark) is None:
        return session
    at = before_remark(session)
    taken_in = (
        _next_round(at, "\n".join(remark.texts), version) if begins_round else _add_feedback(at, remark.texts, version)
    )
    for answered in remark.dialogue:
        taken_in = _with_exchange(taken_in, answered)
    return taken_in


def _next_round(session: Session, request: str, version: int) -> Session:
    """Starts a new request. The previous one moves to the summary; plan, code and unused feedback stay as context."""
    words = session.words
    past = (Round(words.request[:MAX_SUMMARY], _round_outcome(session)),) if words.request else ()
    ended = leave_turn(session)
    unconsumed = tuple(text for text in words.feedback if text not in ended.memory.heard)
    earlier = (*words.earlier, *past)[-MAX_ROUNDS:]
    fresh = replace(
        ended,
        memory=begin_request(ended.memory),
        words=replace(words, request=request, earlier=earlier, feedback=unconsumed, last_question="", dialogue=()),
        next_draft=NextDraft(),
        answer=SessionAnswer(),
        task="",
        begun_steps=(),
        ran_steps={},
        attempts={},
        counts=replace(session.counts, turns_before=session.counts.turns),
    )
    return enter_phase(fresh, "planning", version)


def programmed_plan(session: Session) -> Plan | None:
    """The plan, if its code is approved."""
    plan, code = session.plan, session.code
    return plan if plan and code and code.status == "approved" and code.plan_version == plan.version else None


def _round_outcome(session: Session) -> str:
    if session.answer.text:
        return f"answered: {session.answer.text}"[:MAX_SUMMARY]
    if approved := programmed_plan(session):
        return f"code approved for the plan: {approved.goal}"[:MAX_SUMMARY]
    if plan := session.plan:
        return f"plan {plan.status}: {plan.goal}"[:MAX_SUMMARY]
    return "failed" if session.phase == "failed" else session.rest_reason


def _add_feedback(session: Session, texts: tuple[str, ...], version: int) -> Session:
    if session.question:
        return _take_answer(session, "\n".join(texts), version)
    session = defer_remark(session)
    target = review_target(session) if session.phase != "escalated" else None
    with_feedback = with_next_draft(
        with_words(session, feedback=(*session.words.feedback, *texts)), another=False, problems=()
    )
    if target == "code":
        return enter_phase(with_code(with_feedback, status="rejected", repairs=0), "coding", version)
    if target == "text":
        return enter_phase(with_plan(with_feedback, "rejected"), "planning", version)
    return enter_phase(leave_turn(with_feedback), "planning", version)


def question_asked(session: Session, event: facts.QuestionAsked) -> Session:
    """The user is due. The answer to a service's question leads back to the phase that asked."""
    question = OpenQuestion(event.question_id, event.kind, event.text, event.options, event.form, event.version)
    if event.kind == "action":
        session = mark_actions(session, [event.question_id], "asked")
    stage = session.phase if event.kind in ("request", "budget") else None
    return replace(enter_idle_phase(session, "awaiting_input"), question=question, resume_phase=stage)


def question_answered(session: Session, event: facts.QuestionAnswered) -> Session:
    question = session.question
    if question is None:
        return session
    match question.about:
        case "continue":
            return _next_round(session, event.text, event.version)
        case "action":
            is_input = session.turn is not None and session.turn.rules.answers_are_input
            status: ActionStatus = "approved" if is_input else "finished"
            return advance(mark_actions(session, [event.question_id], status, result=event.text), event.version)
        case "uncertain":
            return advance(_resolve_uncertain(session, event), event.version)
        case "request" | "budget":
            return _take_answer(session, event.text, event.version)
    assert_never(question.about)


def _resolve_uncertain(session: Session, event: facts.QuestionAnswered) -> Session:
    """Applies the user's answer about an action whose effect is uncertain."""
    if event.key == "again":
        return new_attempt(session, [event.question_id], "approved")
    if event.key == "happened":
        return mark_actions(session, [event.question_id], "finished", error="")
    return mark_actions(session, [event.question_id], "uncertain", left=True)


def _take_answer(session: Session, text: str, version: int) -> Session:
    """Enters the phase that asked again, with the question and its answer."""
    answered = AnsweredQuestion(session.question.text if session.question else "", text)
    if remark := session.words.remark:
        after = with_words(session, remark=replace(remark, dialogue=(*remark.dialogue, answered)[-MAX_DIALOGUE:]))
    else:
        after = _with_exchange(session, answered)
    return resume_phase(after, session.resume_phase or "planning", version)


def _with_exchange(session: Session, answered: AnsweredQuestion) -> Session:
    dialogue = (*session.words.dialogue, answered)[-MAX_DIALOGUE:] if answered.question else session.words.dialogue
    return with_words(
        session, feedback=(*session.words.feedback, answered.answer), last_question=answered.question, dialogue=dialogue
    )
