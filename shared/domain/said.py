"""How what people say evolves a session: requests, feedback, words during work, answers.

Nothing said is dropped before a draft took it in, up to `WORDS_KEPT`; beyond, the oldest is left to the journal.
"""

from typing import assert_never

from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.memory import next_request
from shared.domain.session import (
    ROUNDS_KEPT,
    SERVICE_OF,
    WORDS_KEPT,
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
    with_plan,
)
from shared.domain.state import ActionStatus, Question, Round, Said
from shared.domain.turns import go_on
from shared.domain.waves import advance, leave_turn, mark, new_attempt
from shared.events import facts

LONGEST = 50_000  # characters of what a service says
DIALOGUE = 20  # questions and answers that prompts still see
SUMMARY = 400  # characters of an earlier request, and of its outcome, that prompts still see
REMARKED: tuple[Phase, ...] = ("awaiting_approval", "resting")  # where words ask for nothing that they do not say


def heard(session: Session, event: facts.MessageReceived) -> Session:
    known = newest((*session.knowledge, *event.knowledge), WORDS_KEPT, lambda known: known.name + known.text)
    informed = replace(session, knowledge=known, reply="")
    if event.intent == "remark" and put_back(session).phase in REMARKED:
        return _remarked(informed, event.text, event.version)
    if event.intent == "guidance" or (event.intent == "remark" and session.phase in SERVICE_OF):
        return replace(informed, unread=newest((*session.unread, event.text), WORDS_KEPT))
    if event.intent in ("feedback", "remark"):
        return _feedback(informed, (event.text,), event.version)
    settings = replace(
        set_aside(informed),
        owner=session.owner or event.actor.removeprefix("user:"),
        title=session.title or (event.text.strip().splitlines() or ["Untitled"])[0][:80],
        workflow=event.workflow or session.workflow,
        settings=event.settings or session.settings,
    )
    return _next_round(settings, event.text, event.version)


def _remarked(session: Session, text: str, version: int) -> Session:
    """Planner or generator is due, and nothing else has changed. A second remark is answered with the first."""
    at = put_back(session)
    remark = session.remark or Remark((), at.phase, at.halted)
    remark = replace(remark, texts=newest((*remark.texts, text), WORDS_KEPT))
    coding = at.phase == "awaiting_approval" and reviewing(at) == "code"
    return begin(replace(session, remark=remark), "coding" if coding else "planning", version)


def begins_round(session: Session) -> bool:
    """Whether a draft that takes the remark in begins a round: at rest there is nothing to revise."""
    return session.remark is not None and session.remark.phase == "resting"


def drafting(session: Session) -> Session:
    """The session as the next draft is made in it: with the remark taken in."""
    return taken_in(session, session.version, begins_round=begins_round(session))


def in_words(session: Session, text: str) -> c.AnswerRemark | c.Ask:
    """What a service says instead of a draft: the answer to a remark, or else words that a person replies to."""
    return c.AnswerRemark(text=text[:LONGEST]) if session.remark else c.Ask(text=text[:LONGEST])


def taken_in(session: Session, version: int, *, begins_round: bool) -> Session:
    """The session that a draft is made in: its remark is feedback on what is in review, or a new request."""
    if (remark := session.remark) is None:
        return session
    at = put_back(session)
    heard = _next_round(at, "\n".join(remark.texts), version) if begins_round else _feedback(at, remark.texts, version)
    for said in remark.dialogue:
        heard = _with_answer(heard, said)
    return heard


def _next_round(session: Session, request: str, version: int) -> Session:
    """A new request: what came before becomes a line of the summary; plan, code and unused feedback stay as context."""
    rounds = (*session.rounds, Round(session.request[:SUMMARY], _outcome_of(session))) if session.request else ()
    ended = leave_turn(session)
    fresh = replace(
        ended,
        memory=next_request(ended.memory),
        feedback=tuple(words for words in ended.feedback if words not in ended.memory.heard),
        rounds=rounds[-ROUNDS_KEPT:],
        request=request,
        problems=(),
        asked="",
        dialogue=(),
        replan=False,
        answer="",
        confidence=0.0,
        evidence=(),
        accepted=False,
        saved=False,
        turns_before=session.turns,
    )
    return begin(fresh, "planning", version)


def _outcome_of(session: Session) -> str:
    if session.answer:
        return f"answered: {session.answer}"[:SUMMARY]
    plan, code = session.plan, session.code
    if plan and code and code.status == "approved" and code.plan_version == plan.version:
        return f"code approved for the plan: {plan.goal}"[:SUMMARY]
    if plan:
        return f"plan {plan.status}: {plan.goal}"[:SUMMARY]
    return "failed" if session.phase == "failed" else session.reason


def _feedback(session: Session, texts: tuple[str, ...], version: int) -> Session:
    if session.question:
        return _told(session, "\n".join(texts), version)
    session = set_aside(session)
    target = reviewing(session) if session.phase != "escalated" else None
    said = replace(session, feedback=(*session.feedback, *texts), replan=False, problems=())
    if target == "code":
        return begin(with_code(said, status="rejected", repairs=0), "coding", version)
    if target == "text":
        return begin(with_plan(said, "rejected"), "planning", version)
    return begin(leave_turn(said), "planning", version)


def asked(session: Session, event: facts.QuestionAsked) -> Session:
    """The person is due; a question of a service goes back to the phase that asked it."""
    question = Question(event.question_id, event.kind, event.text, event.options, event.form)
    if event.kind == "action":
        session = mark(session, [event.question_id], "asked")
    stage = session.phase if event.kind in ("request", "budget") else None
    return replace(settle(session, "awaiting_input"), question=question, halted=stage)


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
    if session.remark:
        told = replace(session, remark=replace(session.remark, dialogue=(*session.remark.dialogue, said)[-DIALOGUE:]))
    else:
        told = _with_answer(session, said)
    return go_on(told, session.halted or "planning", version)


def _with_answer(session: Session, said: Said) -> Session:
    dialogue = (*session.dialogue, said)[-DIALOGUE:] if said.question else session.dialogue
    return replace(session, feedback=(*session.feedback, said.answer), asked=said.question, dialogue=dialogue)
