"""Replies of planner and generator other than drafts: questions, and answers to remarks."""

from collections.abc import Callable

from parley.reply import MAX_OPTION, QuestionDraft, Reply, WordsDraft, without_kinds
from shared.domain import commands as c
from shared.domain.messages import MAX_TEXT, drafting_session, reply_in_words
from shared.domain.session import Session

MAX_QUESTIONS = 3  # per request: after that the model works with what it knows
QUESTION_RULE = """question: only where this kind is offered and you cannot go on without the answer. text asks for one
   thing that is not under <dialogue>; options are short answers to choose from, where a few are likely."""
ANSWER_RULE = """answer: only to a <remark>, which is what the person has just said of what is before them (<review>).
   If it only asks or tells something, and nothing is to be changed or done, answer it in text in a few honest
   sentences: then all stays as it is. If it only agrees, say what is there to approve; that is for the person to do,
   and you never do it. Otherwise do as it says."""
ASKED_BEFORE = (
    "You have asked that already, and the answer is under <dialogue>. Do the task with what is known, or ask for "
    "something else that you cannot do without."
)


def reply_for[R: Reply](reply: type[R], session: Session) -> type[R]:
    """The reply type without the kinds that the session does not allow now.

    No question after MAX_QUESTIONS; an answer only if there is a remark.
    """
    withheld = [] if session.words.remark else ["answer"]
    if len(drafting_session(session).words.dialogue) >= MAX_QUESTIONS:
        withheld.append("question")
    return without_kinds(reply, *withheld)


def refuse_repeated(session: Session) -> Callable[[Reply], str]:
    """A check that refuses a question already asked in this request: it returns why, or ""."""
    asked = {_normalized(exchange.question) for exchange in drafting_session(session).words.dialogue}

    def refuse(reply: Reply) -> str:
        draft = reply.reply
        return ASKED_BEFORE if isinstance(draft, QuestionDraft) and _normalized(draft.text) in asked else ""

    return refuse


def to_command(reply: QuestionDraft | WordsDraft, session: Session) -> c.Ask | c.AnswerRemark:
    """The command that asks the question or answers the remark."""
    text = reply.text.strip()
    if isinstance(reply, WordsDraft):
        return reply_in_words(session, text)
    options = (option.strip()[:MAX_OPTION] for option in reply.options)
    return c.Ask(text=text[:MAX_TEXT], options=tuple(option for option in options if option))


def _normalized(text: str) -> str:
    """The text without case, punctuation and spacing, for comparison."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())
