"""What planner and generator may say to a person instead of a draft: questions, and words that answer a remark."""

from collections.abc import Callable

from parley.reply import LONGEST_OPTION, QuestionDraft, Reply, WordsDraft, without_kinds
from shared.domain import commands as c
from shared.domain.said import LONGEST, drafting, in_words
from shared.domain.session import Session

QUESTIONS = 3  # of one request: after that the model works with what it knows
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
    """The reply as the session allows it now: no question after three, words only where a remark is to be answered."""
    withheld = [] if session.words.remark else ["answer"]
    if len(drafting(session).words.dialogue) >= QUESTIONS:
        withheld.append("question")
    return without_kinds(reply, *withheld)


def refuse_repeated(session: Session) -> Callable[[Reply], str]:
    """Why a reply cannot be taken that asks what was asked in this request before; "" where it can."""
    asked = {_normal(said.question) for said in drafting(session).words.dialogue}

    def refuse(reply: Reply) -> str:
        said = reply.reply
        return ASKED_BEFORE if isinstance(said, QuestionDraft) and _normal(said.text) in asked else ""

    return refuse


def to_command(said: QuestionDraft | WordsDraft, session: Session) -> c.Ask | c.AnswerRemark:
    """The command that asks the question, or gives the answer."""
    text = said.text.strip()
    if isinstance(said, WordsDraft):
        return in_words(session, text)
    options = (option.strip()[:LONGEST_OPTION] for option in said.options)
    return c.Ask(text=text[:LONGEST], options=tuple(option for option in options if option))


def _normal(text: str) -> str:
    """The words alone: case, punctuation and spaces make no other question."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())
