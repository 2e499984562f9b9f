"""How what people say evolves a session: requests, feedback, words during work, answers.

Nothing said is dropped before a draft took it in, up to `WORDS_KEPT`; beyond, the oldest is left to the journal.
"""

from typing import assert_never

from parley.events import facts
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.memory import next_request
from shared.domain.plan_steps import unfinished
from shared.domain.session import (
    ROUNDS_KEPT,
    SERVICE_OF,
    WORDS_KEPT,
    Answer,
    NextDraft,
    Phase,
    Remark,
    Session,
    begin,
    newest,
    put_back,
    reviewing,
    set_aside,
    settle,
    with_code,
    with_next_draft,
    with_plan,
    with_words,
)
from shared.domain.state import ActionStatus, Plan, Question, Round, Said
from shared.domain.turns import go_on
from shared.domain.waves import advance, leave_turn, mark, new_attempt, read_words, running

LONGEST = 50_000  # characters of what a service says
DIALOGUE = 20  # questions and answers that prompts still see
SAID_BEFORE = "conversation"  # the knowledge that holds the earlier messages of a chat
REASON = 500  # characters of what led to a draft
SUMMARY = 400  # characters of an earlier request, and of its outcome, that prompts still see
REMARKED: tuple[Phase, ...] = (
    "awaiting_approval",
    "waiting",
    "resting",
)  # where words ask for no more than they say


def heard(session: Session, event: facts.MessageReceived) -> Session:
    known = newest((*session.words.knowledge, *event.knowledge), WORDS_KEPT, lambda known: known.name + known.text)
    informed = with_words(session, knowledge=known, reply="")
    if event.intent == "remark" and put_back(session).phase in REMARKED:
        return _remarked(informed, event.text, event.version)
    if event.intent == "guidance" or (event.intent == "remark" and session.phase in SERVICE_OF):
        return _guided(informed, event)
    if event.intent in ("feedback", "remark"):
        return _feedback(informed, (event.text,), event.version)
    settings = replace(
        set_aside(informed),
        owner=session.owner or event.owner or event.actor.removeprefix("user:"),
        title=session.title or (event.text.strip().splitlines() or ["Untitled"])[0][:80],
        workflow=event.workflow or session.workflow,
        settings=event.settings or session.settings,
    )
    begun = _next_round(settings, event.text, event.version)
    return settle(begun, "resting") if event.brings_plan else begun


def _guided(session: Session, event: facts.MessageReceived) -> Session:
    """Words while a service works: its next draft takes them in. A plan whose steps could run now waits for an answer.

    While steps run, the words wait until the wave has ended.
    """
    if session.words.remark and session.words.remark.phase in SERVICE_OF:
        return _remarked(session, event.text, event.version)
    heard = with_words(session, unread=newest((*session.words.unread, event.text), WORDS_KEPT))
    return heard if running(heard) else read_words(heard, event.version)


def _remarked(session: Session, text: str, version: int) -> Session:
    """Planner or generator is due, and nothing else has changed. A second remark is answered with the first."""
    at = put_back(session)
    remark = session.words.remark or Remark((), at.phase, at.resume_phase)
    remark = replace(remark, texts=newest((*remark.texts, text), WORDS_KEPT))
    coding = at.phase == "awaiting_approval" and reviewing(at) == "code"
    return begin(with_words(session, remark=remark), "coding" if coding else "planning", version)


def takes_back_remark(session: Session) -> bool:
    """Whether a stop only takes back the remark that is being answered, and not a plan whose steps would run next."""
    return session.words.remark is not None and session.words.remark.phase not in SERVICE_OF


def said_before(session: Session) -> str:
    """The messages that a chat brought along, as `role: text`."""
    return "\n\n".join(known.text for known in session.words.knowledge if known.name == SAID_BEFORE)


def begins_round(session: Session) -> bool:
    """Whether a draft that takes the remark in begins a round: at rest there is nothing to revise but an open plan."""
    at_rest = session.words.remark is not None and session.words.remark.phase == "resting"
    return at_rest and not unfinished(put_back(session))


def drafting(session: Session) -> Session:
    """The session as the next draft is made in it: with the remark taken in."""
    return taken_in(session, session.version, begins_round=begins_round(session))


def reason_of_draft(session: Session, *, first: bool) -> str:
    """The beginning of the words that lead to the next draft: the request, or what was said since the last draft."""
    said = ("" if first else "\n".join(session.words.feedback)) or session.words.request
    return said if len(said) <= REASON else f"{said[: REASON - 1]}…"


def in_words(session: Session, text: str) -> c.AnswerRemark | c.Ask:
    """What a service says instead of a draft: the answer to a remark, or else words that a person replies to."""
    return c.AnswerRemark(text=text[:LONGEST]) if session.words.remark else c.Ask(text=text[:LONGEST])


def taken_in(session: Session, version: int, *, begins_round: bool) -> Session:
    """The session that a draft is made in: its remark is feedback on what is in review, or a new request."""
    if (remark := session.words.remark) is None:
        return session
    at = put_back(session)
    heard = _next_round(at, "\n".join(remark.texts), version) if begins_round else _feedback(at, remark.texts, version)
    for said in remark.dialogue:
        heard = _with_said(heard, said)
    return heard


def _next_round(session: Session, request: str, version: int) -> Session:
    """A new request: what came before becomes a line of the summary; plan, code and unused feedback stay as context."""
    words = session.words
    past = (Round(words.request[:SUMMARY], _outcome_of(session)),) if words.request else ()
    ended = leave_turn(session)
    unheard = tuple(text for text in words.feedback if text not in ended.memory.heard)
    earlier = (*words.earlier, *past)[-ROUNDS_KEPT:]
    fresh = replace(
        ended,
        memory=next_request(ended.memory),
        words=replace(words, request=request, earlier=earlier, feedback=unheard, last_question="", dialogue=()),
        next_draft=NextDraft(),
        answer=Answer(),
        task="",
        begun_steps=(),
        attempts={},
        counts=replace(session.counts, turns_before=session.counts.turns),
    )
    return begin(fresh, "planning", version)


def programmed(session: Session) -> Plan | None:
    """The plan, if the code for it was approved."""
    plan, code = session.plan, session.code
    return plan if plan and code and code.status == "approved" and code.plan_version == plan.version else None


def _outcome_of(session: Session) -> str:
    if session.answer.text:
        return f"answered: {session.answer.text}"[:SUMMARY]
    if made := programmed(session):
        return f"code approved for the plan: {made.goal}"[:SUMMARY]
    if plan := session.plan:
        return f"plan {plan.status}: {plan.goal}"[:SUMMARY]
    return "failed" if session.phase == "failed" else session.rest_reason


def _feedback(session: Session, texts: tuple[str, ...], version: int) -> Session:
    if session.question:
        return _told(session, "\n".join(texts), version)
    session = set_aside(session)
    target = reviewing(session) if session.phase != "escalated" else None
    said = with_next_draft(with_words(session, feedback=(*session.words.feedback, *texts)), another=False, problems=())
    if target == "code":
        return begin(with_code(said, status="rejected", repairs=0), "coding", version)
    if target == "text":
        return begin(with_plan(said, "rejected"), "planning", version)
    return begin(leave_turn(said), "planning", version)


def asked(session: Session, event: facts.QuestionAsked) -> Session:
    """The person is due; a question of a service goes back to the phase that asked it."""
    question = Question(event.question_id, event.kind, event.text, event.options, event.form, event.version)
    if event.kind == "action":
        session = mark(session, [event.question_id], "asked")
    stage = session.phase if event.kind in ("request", "budget") else None
    return replace(settle(session, "awaiting_input"), question=question, resume_phase=stage)


def answered(session: Session, event: facts.QuestionAnswered) -> Session:
    question = session.question
    if question is None:
        return session
    match question.about:
        case "continue":
            return _next_round(session, event.text, event.version)
        case "action":
            is_input = session.turn is not None and session.turn.rules.answers_are_input
            status: ActionStatus = "approved" if is_input else "finished"
            return advance(mark(session, [event.question_id], status, result=event.text), event.version)
        case "uncertain":
            return advance(_cleared(session, event), event.version)
        case "request" | "budget":
            return _told(session, event.text, event.version)
    assert_never(question.about)


def _cleared(session: Session, event: facts.QuestionAnswered) -> Session:
    """The person's word on an action of which nobody could tell whether it took effect."""
    if event.key == "again":
        return new_attempt(session, [event.question_id], "approved")
    if event.key == "happened":
        return mark(session, [event.question_id], "finished", error="")
    return mark(session, [event.question_id], "uncertain", left=True)


def _told(session: Session, text: str, version: int) -> Session:
    """What a draft asked for is now known: the same phase again, with the question and its answer."""
    said = Said(session.question.text if session.question else "", text)
    if remark := session.words.remark:
        told = with_words(session, remark=replace(remark, dialogue=(*remark.dialogue, said)[-DIALOGUE:]))
    else:
        told = _with_said(session, said)
    return go_on(told, session.resume_phase or "planning", version)


def _with_said(session: Session, said: Said) -> Session:
    dialogue = (*session.words.dialogue, said)[-DIALOGUE:] if said.question else session.words.dialogue
    return with_words(
        session, feedback=(*session.words.feedback, said.answer), last_question=said.question, dialogue=dialogue
    )
