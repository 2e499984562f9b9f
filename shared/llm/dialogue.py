"""The conversation in prompts, and replies other than drafts: questions, and answers in words."""

import re
from collections.abc import Callable, Iterable, Iterator

from parley.events.values import FurtherQuestion, Option
from parley.protocol.words import ACTIONS, REVIEW
from parley.reply import MAX_OPTION, AcceptedOffer, QuestionDraft, Reply, WordsDraft, with_title, without_kinds
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, is_untitled, review_target, undecided_actions
from shared.domain.kernel.state import Action, Plan
from shared.domain.transcript.memory import text_of
from shared.domain.transcript.messages import MAX_TEXT, drafting_session, drafts_at_once
from shared.domain.transcript.queries import questions

MAX_QUESTIONS = 3  # times that a request may be asked about: after that the model works with what it knows
CONVERSATION = """The conversation follows. <request>, <message> and <answered> are the person's words, <knowledge> is
text that they attached (no file), <decision> is what they did on the page. <run> is a call or a program with its
result, <verdict> how it was judged or checked, <question> what a step asked. The replies are yours or a colleague's;
“…” in them stands for what follows as <plan> or <code>. What was agreed there holds: if the person takes up a
suggestion or names a choice, act on it. <original_request> is what the work is for, if the conversation no longer goes
back that far."""
KINDS = """Reply in one of these ways, whichever the schema allows. If it has a title beside the reply, give three to
six words that name the work."""
SAY = """words to the person: the answer to what they asked, and what is new in this version and why; "" if there is
   neither. What it proposes has not happened"""
QUESTION_RULE = """question: only if you cannot go on without an answer that the conversation does not give. text asks
   for one thing; options: short answers to choose from, if a few are likely; several: whether more than one of them may
   be chosen; more: up to two further questions, so that all is asked at once. If what the person wants cannot be done
   but something near it can, offer that as an option."""
ANSWER_RULE = """answer: the person asks or tells something, or wants nothing but words, such as a letter or an
   explanation. text, in Markdown, is as long as it needs to be; nothing else is changed or done. If they agree to
   what a button does, name it (see <buttons> and <waiting>): you cannot press it."""
OFFER_RULE = """take_offer: the person accepts the <offer>, a draft of yours that they have not decided on, as it
   stands. say answers what else they said; a plan or program still waits for its approval. While something is
   <waiting> for them or goes on, a new draft is only offered, too: in say it is a proposal."""
MAX_QUOTED_PROPOSAL = 20_000  # characters
ASKED_BEFORE = (
    "You have asked that already, and the conversation holds the answer. Do the task with what is known, or ask for "
    "something else that you cannot do without."
)
# Whole messages that say yes and nothing else: in English, German, Dutch, French, Spanish, Italian, Portuguese, Polish,
# Russian, Turkish, Chinese, Japanese, Korean and Arabic. `_normalized` has taken the apostrophes out.
AGREEMENTS = """ok|okay|k|yes|yep|yeah|sure|go|go ahead|go for it|fine|good|great|perfect|agreed|approved|please|do it|
do that|sounds good|looks good|lgtm|that works|ja|jawohl|klar|passt|gut|in ordnung|einverstanden|mach das|mach es|los|
bitte|oké|prima|akkoord|doe maar|is goed|oui|d accord|vas y|allez y|c est bon|ça marche|parfait|sí|si|vale|claro|
de acuerdo|adelante|está bien|perfecto|hazlo|sì|va bene|certo|d accordo|perfetto|procedi|sim|está bem|tudo bem|
pode ser|perfeito|tak|dobrze|zgoda|да|хорошо|ладно|давай|согласен|согласна|evet|tamam|olur|好|好的|可以|行|是的|同意|
はい|お願いします|いいです|네|예|좋아요|نعم|حسنا|موافق"""
AGREEMENT = re.compile(rf"(?:(?:{AGREEMENTS.replace(chr(10), '')})(?: |$))+")
MAX_AGREEMENT = 60  # characters
BUTTONS = {"text": "approve_plan", "code": "approve_code", "actions": "approve"}
PRESS = "A message approves nothing. To approve, press “{button}”."
GOES_ON = "The work is going on."
DECLINED = "The person declined this plan."
EXECUTING = f"""The plan is being carried out; no further change begins before you reply. After an answer in words it
goes on as it stands. A new plan is shown beside it, and the person chooses between the two (“{ACTIONS["take_offer"]}”,
“{ACTIONS["keep_offer"]}”); until they have, no change begins, whatever the plan waits for."""


def knowledge_section(session: Session) -> list[str]:
    """What the person attached, by name."""
    return [f"# {known.name}\n{known.text}" for known in session.words.knowledge]


def request_section(session: Session) -> str | None:
    """The request, once the conversation in the prompt no longer goes back to it."""
    words = drafting_session(session).words
    told = (entry.version == words.request_version or entry.text == words.request for entry in session.transcript)
    return None if any(told) else words.request


def plan_section(session: Session, *, ids: bool = False) -> str | None:
    """The plan's steps with their numbers or `ids`; goal and notes too, unless the transcript tells them."""
    plan = session.plan
    if plan is None:
        return None
    named = [(str((ids and step.id) or number), step) for number, step in enumerate(plan.steps, 1)]
    steps = "\n".join(f"{name}. {step.text}" for name, step in named)
    if own := [name for name, step in named if step.id in plan.own_steps]:
        steps += f"\n\nThe person wrote {', '.join(own)}."
    if plan.wishes:
        steps += f"\n\n{REVIEW['wishes'].format(wishes='; '.join(plan.wishes))}"
    if plan.status == "rejected" and (session.phase == "resting" or session.next_draft.after_decline):
        steps = f"{DECLINED}\n\n{steps}"
    if is_told(session, plan):
        return steps
    return "\n\n".join(filter(None, (f"Goal: {plan.goal}", steps, plan.notes and f"Notes: {plan.notes}")))


def is_told(session: Session, plan: Plan) -> bool:
    """Whether the transcript has the plan's goal and notes."""
    return any(entry.version == plan.version and entry.kind == "draft" for entry in session.transcript)


def code_section(session: Session) -> str | None:
    """The current program; None once it is superseded."""
    code = session.code
    return code.code if code and code.status != "superseded" else None


def waiting_sections(session: Session) -> dict[str, str | list[str] | None]:
    """What waits for the person's decision, or goes on, beside the message that is to be answered. Where a draft counts
    at once, only the buttons for what is there.
    """
    if session.reply is None:
        return {}
    turn, offer = session.turn, session.offer
    offered = offer.draft.model_dump_json(exclude_defaults=True, exclude={"reason"}) if offer else None
    if turn is not None and turn.rules.by_step and session.phase in ("executing", "waiting"):
        return {"waiting": EXECUTING, "offer": offered}
    if drafts_at_once(session):
        return {"buttons": list(_waiting(session)), "offer": offered}
    return {"waiting": list(_waiting(session)) or [GOES_ON], "offer": offered}


def agreement_reply(session: Session) -> c.AnswerRemark | None:
    """The reply to a bare “ok” about what is in review: the button to press. None for anything else.

    Where Parley has said or asked something about it, the “ok” may mean that.
    """
    if session.phase != "awaiting_approval" or session.offer or not (target := review_target(session)):
        return None
    said = next((entry for entry in reversed(session.transcript) if entry.is_reply), None)
    if said and (said.kind != "draft" or re.search("[?？؟]", said.text)):
        return None
    agrees = bool(session.words.unread) and all(_agrees(message.text) for message in session.words.unread)
    return c.AnswerRemark(text=PRESS.format(button=ACTIONS[BUTTONS[target]])) if agrees else None


def _agrees(text: str) -> bool:
    is_short = len(text) <= MAX_AGREEMENT and "?" not in text
    return is_short and AGREEMENT.fullmatch(_normalized(text)) is not None


def _waiting(session: Session) -> Iterator[str]:
    """What the person can decide on now, with the buttons that say yes; for calls also the one that says no."""
    code, target = session.code, review_target(session)
    if session.phase == "resting" and code and code.status == "approved":
        yield f"Program {code.number} is approved: “{ACTIONS['run_code']}” runs it."
    if session.question:
        yield f"A call asks: {session.question.text}"
        yield from (f"- {option.label}" for option in session.question.options)
    if session.phase != "awaiting_approval":
        return
    if target == "actions":
        yield from map(_line, undecided_actions(session.turn))
        yield f"For each: “{ACTIONS['approve']}” or “{ACTIONS['decline']}”."
    elif target == "code" and code:
        yield f"Program {code.number}: “{ACTIONS['approve_code']}”, then “{ACTIONS['run_code']}”."
    elif session.plan:
        yield f"Plan {session.plan.number}: “{ACTIONS['approve_plan']}”."


def _line(action: Action) -> str:
    spec = action.spec
    return f"{spec.id} {spec.tool} {text_of(spec.arguments)}: {spec.description} (asks because: {spec.approval_reason})"


def reply_for[R: Reply](reply: type[R], session: Session) -> type[R]:
    """The reply type without the kinds that the session does not allow now.

    No question after MAX_QUESTIONS, nor while something else waits or runs. An offer is taken only where one is open.
    No answer in words where the caller asked for a plan, nor between turns while nothing new was said. The first reply
    names the session.
    """
    takes = session.reply and session.offer and session.offer.by == session.reply.service
    withheld = [] if takes else ["take_offer"]
    goes_on = session.counts.turns > session.counts.turns_before and not session.words.unread
    if session.reply is None and (session.settings.plan_required or goes_on):
        withheld.append("answer")
    beside = session.reply is not None and not drafts_at_once(session)
    if beside or len(questions(session)) >= MAX_QUESTIONS:
        withheld.append("question")
    fitting = without_kinds(reply, *withheld)
    is_first = is_untitled(session) and not any(entry.is_reply for entry in session.transcript)
    return with_title(fitting) if is_first else fitting


def refuse_repeated(session: Session) -> Callable[[Reply], str]:
    """A function that says why a reply is refused, if it asks again what was asked in this request; "" for others."""
    asked = {_normalized(question) for together in questions(session) for question in together}

    def refuse(reply: Reply) -> str:
        draft = reply.reply
        if not isinstance(draft, QuestionDraft):
            return ""
        texts = (draft.text, *(more.text for more in draft.more))
        return ASKED_BEFORE if any(_normalized(text) in asked for text in texts) else ""

    return refuse


def refused_proposal(reply: Reply) -> tuple[str, ...]:
    """The proposal that was not accepted, for the prompt that asks for another one; nothing if it is very long."""
    text = reply.reply.model_dump_json(exclude_defaults=True)
    return (f"You proposed: {text}",) if len(text) <= MAX_QUOTED_PROPOSAL else ()


def to_command(reply: QuestionDraft | WordsDraft | AcceptedOffer) -> c.NoDraft:
    """The command that asks the question, answers the message or takes the offer."""
    if isinstance(reply, AcceptedOffer):
        return c.AcceptOffer(say=reply.say.strip()[:MAX_TEXT])
    text = reply.text.strip()[:MAX_TEXT]
    if isinstance(reply, WordsDraft):
        return c.AnswerRemark(text=text)
    further = tuple(
        FurtherQuestion(text=asked.text[:MAX_TEXT], options=_options(asked.options), several=asked.several)
        for asked in reply.more
    )
    labels = tuple(option.label for option in _options(reply.options))
    return c.Ask(text=text, options=labels, several=reply.several, further=further)


def _options(labels: Iterable[str]) -> tuple[Option, ...]:
    given = dict.fromkeys(filter(None, (label.strip()[:MAX_OPTION] for label in labels)))
    return tuple(Option(key=str(number), label=label) for number, label in enumerate(given, 1))


def _normalized(text: str) -> str:
    """The text without case, punctuation and spacing, for comparison."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())
