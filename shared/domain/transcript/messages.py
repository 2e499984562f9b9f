"""How a person's messages evolve a session: requests, feedback, messages to be answered, answers to questions.

The session keeps every message until a draft or a reply takes it in, up to `MAX_WORDS_BYTES`. Beyond that the oldest
ones are only in the journal.
"""

from parley.events import SessionEvent, facts
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import (
    MAX_WORDS_BYTES,
    SERVICE_OF,
    NextDraft,
    Session,
    SessionAnswer,
    review_target,
    title_of,
    with_answer,
    with_code,
    with_next_draft,
    with_plan,
    with_words,
)
from shared.domain.kernel.state import DEFAULT_RULES, Plan
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.transcript.compaction import newest_within
from shared.domain.transcript.dialogue import Offer, UnreadMessage
from shared.domain.transcript.memory import begin_request
from shared.domain.turn.batches import hold, leave_turn, mark_actions

MAX_TEXT = 50_000  # characters of a service's reply
CHAT_HISTORY = "conversation"  # name of the knowledge that holds the earlier messages of a chat
MAX_REASON = 500  # characters of the message that led to a draft


def message_received(session: Session, event: facts.MessageReceived) -> Session:
    known = newest_within(
        (*session.words.knowledge, *event.knowledge), MAX_WORDS_BYTES, lambda known: known.name + known.text
    )
    informed = replace(with_words(session, knowledge=known, reply=""), time_zone=event.time_zone or session.time_zone)
    if event.intent == "request":
        return _begin(informed, event)
    said = with_message(informed, event.version, event.text)
    if event.intent == "feedback":
        return asker_answered(said, event.version) if session.question else _with_feedback(said)
    return said if _is_read_next(said) else await_reply(said, event.version)


def _begin(session: Session, event: facts.MessageReceived) -> Session:
    settings = replace(
        session,
        owner=session.owner or event.owner or event.actor.removeprefix(USER_PREFIX),
        title=session.title or title_of(event.text),
        workflow=event.workflow or session.workflow,
        settings=event.settings or session.settings,
    )
    return next_round(settings, event.text, event.version)


def with_heard(session: Session, until: int) -> Session:
    """The session whose messages up to this version have been taken in."""
    return with_words(session, unread=tuple(said for said in session.words.unread if said.version > until))


def withdraws_message(session: Session) -> bool:
    """Whether a stop only withdraws the message that is to be answered, because nothing is at work."""
    interrupted = session.resume_phase if asks_for_budget(session) else session.phase
    awaits_reply = session.reply is not None and interrupted not in SERVICE_OF
    return awaits_reply or session.asked_beside is not None


def asks_for_budget(session: Session) -> bool:
    return session.question is not None and session.question.about == "budget"


def with_message(session: Session, version: int, text: str) -> Session:
    messages = (*session.words.unread, UnreadMessage(version, text))
    return with_words(session, unread=newest_within(messages, MAX_WORDS_BYTES, lambda message: message.text))


def _is_read_next(session: Session) -> bool:
    """Whether the next draft takes the message in: one is being made, or follows when the work at hand has ended."""
    if session.phase in ("planning", "coding"):
        return True
    checks_code = session.phase == "verifying" and session.turn is None
    goes_on = session.phase in ("executing", "verifying", "answering")
    return checks_code or (goes_on and session.turn is not None and session.turn.rules.reads_messages)


def await_reply(session: Session, version: int) -> Session:
    """Makes the planner, or the generator if code is in review, answer the message. Nothing that is not a read begins
    before that. A second message is answered with the first.

    An event makes one service due: what else would begin with this one begins after the reply.
    """
    reviews_code = session.phase == "awaiting_approval" and review_target(session) == "code"
    awaited = replace(session, reply=Work(service="generator" if reviews_code else "planner", version=version))
    if awaited.work and awaited.work.version == version:
        return replace(awaited, work=None)
    return hold(awaited)


def without_program(session: Session, version: int) -> Session:
    """The session whose program is gone: the planner answers the message that the generator was to answer about it."""
    is_about_it = session.reply is not None and session.reply.service == "generator"
    return await_reply(session, version) if is_about_it else session


def remark_answered(session: Session, event: facts.RemarkAnswered) -> Session:
    """The reply in words. Everything is as it was before the message; after a decline, it stays declined."""
    return with_answer(with_words(take_in(session, event), reply=event.text), next=())


def answer_unread(session: Session, version: int) -> Session:
    """Makes a service answer the messages that nobody else is going to read."""
    waits = session.words.unread and session.reply is None and not _is_read_next(session)
    return await_reply(session, version) if waits else session


def read_until(session: Session, event: SessionEvent) -> int:
    """The version up to which the draft or reply that ends the work at hand has read the messages."""
    work = session.reply or session.work
    return max(work.version if work else session.version, event.read_until or 0)


def take_in(session: Session, event: SessionEvent) -> Session:
    """The session whose messages the event that ends the work at hand has taken in."""
    if not session.works:
        return session
    return with_heard(replace(session, reply=None), read_until(session, event))


def take_in_draft(session: Session, event: facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned) -> Session:
    """The session that the draft applies to: with its messages taken in, as a new request if the draft begins one."""
    takes_offer = event.offer is not None and event.actor.startswith(USER_PREFIX)
    heard = replace(session if takes_offer else take_in(session, event), offer=None)
    if isinstance(event, facts.CodeDrafted) and heard.words.unread != session.words.unread:
        heard = with_next_draft(heard, problems=())  # it does what the person said, so it is no mere repair
    return _with_round(session, heard, event.version) if event.begins_round else heard


def _with_round(session: Session, informed: Session, version: int) -> Session:
    """The session with a new request: the messages of `session` that are no longer unread in `informed`."""
    unread = informed.words.unread
    taken_in = [message for message in session.words.unread if message not in unread]
    begun = next_round(informed, "\n".join(message.text for message in taken_in), version)
    began = taken_in[-1].version if taken_in else version
    return with_words(begun, unread=unread, request_version=began)


def chat_history(session: Session) -> str:
    """The earlier messages of a chat, as `role: text`."""
    return "\n\n".join(known.text for known in session.words.knowledge if known.name == CHAT_HISTORY)


def begins_round(session: Session) -> bool:
    """Whether a draft or question in reply to a message begins a new round: at rest, only an unfinished plan can be
    revised. The generator revises its program.
    """
    asked = session.reply is not None and session.reply.service == "planner"
    return asked and session.phase == "resting" and not is_unfinished(session)


def action_denied(session: Session, event: facts.ApprovalDenied) -> Session:
    """The session after a denial. Its words go back to whoever planned the action: to the next turn of tools, once the
    calls that were approved beside it have ended; to a new path; or as a message about the plan that is carried out.
    """
    denied = mark_actions(session, [event.action_id], "denied", error=event.reason)
    rules = session.turn.rules if session.turn else DEFAULT_RULES
    if not event.reason or not (rules.one_by_one or rules.by_step):
        return denied
    said = with_message(denied, event.version, event.reason)
    return leave_turn(said) if rules.one_by_one else said


def offer_made(session: Session, event: facts.OfferMade) -> Session:
    """The session with the offer, which replaces an earlier one. Reads go on."""
    return replace(take_in(session, event), offer=Offer(event.version, event.draft))


def drafting_session(session: Session) -> Session:
    """The session that the next draft is based on: a new request if the draft begins one."""
    if not begins_round(session):
        return session
    begun = _with_round(session, with_words(session, unread=()), session.version)
    return with_words(begun, unread=session.words.unread)


def drafts_at_once(session: Session) -> bool:
    """Whether a draft in reply to a message counts at once: it revises what is in review, or nothing waits."""
    return session.phase == "resting" or (session.phase == "awaiting_approval" and review_target(session) != "actions")


def draft_reason(session: Session, *, first: bool) -> str:
    """The beginning of the words that lead to the next draft: the request, or what was said since the last draft."""
    said = "\n".join(message.text for message in session.words.unread)
    text = ("" if first else said) or session.words.request
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"


def next_round(session: Session, request: str, version: int) -> Session:
    """Starts a new request; plan and code stay as context."""
    ended = leave_turn(session)
    return replace(
        ended,
        reply=None,
        offer=None,
        memory=begin_request(ended.memory),
        words=replace(session.words, request=request, request_version=version, unread=()),
        next_draft=NextDraft(),
        answer=SessionAnswer(),
        task="",
        begun_steps=(),
        ran_steps={},
        attempts={},
        counts=replace(session.counts, turns_before=session.counts.turns),
    )


def asker_answered(session: Session, version: int) -> Session:
    """The session of who asked, with the answer. A question in reply to a message at rest was about a new request."""
    question, beside = session.question, session.asked_beside
    if question and beside and beside.begins_round:
        return _with_round(session, with_heard(session, question.asked_version), version)
    return session


def programmed_plan(session: Session) -> Plan | None:
    """The plan, if its code is approved."""
    plan, code = session.plan, session.code
    return plan if plan and code and code.status == "approved" and code.plan_version == plan.version else None


def _with_feedback(session: Session) -> Session:
    target = review_target(session) if session.phase != "escalated" else None
    session = with_next_draft(session, another=False, problems=())
    if target == "code":
        return with_code(session, status="rejected", repairs=0)
    return with_plan(session, "rejected") if target == "text" else leave_turn(session)
