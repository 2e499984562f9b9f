"""Decides users' answers: whether a message answers the open question, and the event that the answer makes."""

from typing import assert_never

from parley.events import SessionEvent, facts
from shared.domain import commands as c
from shared.domain.budgets import answer_budget_question
from shared.domain.commands import CommandMeta
from shared.domain.dialogue import OpenQuestion
from shared.domain.errors import Invalid, OutOfTurn, Stale
from shared.domain.event_meta import event_meta
from shared.domain.session import Session


def is_answer(question: OpenQuestion, message: c.Say) -> bool:
    """Whether a message that names no question answers this one.

    A message may have been written before a question about a call was seen: there, only an option is an answer.
    """
    match question.about:
        case "continue":
            return False
        case "request":
            return not message.knowledge  # texts that it brings are added to the request
        case "budget":
            return True
        case "action" | "uncertain":
            return question.option_of(message.text) is not None
    assert_never(question.about)


def answer(session: Session, command: c.Answer, meta: CommandMeta) -> SessionEvent:
    """The event of an answer to the open question. Raises OutOfTurn, Stale, Invalid."""
    question = session.question
    if session.phase != "awaiting_input" or question is None:
        raise OutOfTurn("No question is open now.")
    if command.action_id is not None and command.action_id != question.id:
        raise Stale("That question is no longer open; another one is.")
    if not all(text.strip() for text in (command.text, *command.more)):
        raise Invalid("The answer is empty.")
    option = question.option_of(command.text)
    if question.about == "budget":
        return answer_budget_question(session, option.key if option else None, meta)
    if question.about == "uncertain" and option is None:
        raise Invalid(f"Answer with one of: {'; '.join(option.label for option in question.options)}.")
    if len(command.more) > len(question.further):
        raise Invalid("There are more answers than open questions: answer those, or fewer, in their order.")
    needs = 3 if question.place or command.more else 1  # readers of older formats know no questions asked together
    return facts.QuestionAnswered(
        **event_meta(session, meta, facts.QuestionAnswered, question.action_id, needs=needs),
        question_id=question.action_id,
        text=option.label if option else command.text,
        key=option.key if option else None,
        more=command.more,
        place=question.place,
    )
