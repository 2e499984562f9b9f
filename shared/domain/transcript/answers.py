"""Decides questions and answers: what services ask, whether a message answers it, and the event of an answer."""

from typing import assert_never

from parley.events import SessionEvent, facts
from parley.events.values import Option
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn, Stale, require
from shared.domain.kernel.session import Phase, Session
from shared.domain.rules.budgets import answer_budget_question
from shared.domain.rules.event_meta import event_meta, require_own_work
from shared.domain.steps.plan_steps import step_of
from shared.domain.transcript.dialogue import OpenQuestion
from shared.domain.transcript.messages import drafts_at_once
from shared.domain.turn.batches import next_batch, running_actions

DRAFTING: tuple[Phase, ...] = ("planning", "coding")
ASKING_PHASES: dict[str, tuple[Phase, ...]] = {"request": DRAFTING, "turns": DRAFTING, "action": ("executing",)}
OPTIONS_OF: dict[str, tuple[Option, ...]] = {"budget": wording.BUDGET_OPTIONS, "turns": wording.TURN_OPTIONS}


def is_answer(question: OpenQuestion, message: c.Say) -> bool:
    """Whether a message that names no question answers this one.

    A message may have been written before a question about a call was seen: there, only an option is an answer. Words
    to several questions that were asked together may make the others pointless: who asked hears them at once.
    """
    match question.about:
        case "continue":
            return False
        case "request" | "turns":
            to_the_first = not question.further or question.option_of(message.text) is not None
            return to_the_first and not message.knowledge  # texts that it brings are added to the request
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
    return facts.QuestionAnswered(
        **event_meta(session, meta, facts.QuestionAnswered, question.action_id),
        question_id=question.action_id,
        text=option.label if option else command.text,
        key=option.key if option else None,
        more=command.more,
        place=question.place,
    )


def ask(session: Session, command: c.Ask, meta: CommandMeta) -> SessionEvent:
    """A question about the request or the budget, or a step that asks the user: asked before its batch starts."""
    if session.reply is not None and meta.work == session.reply:
        if command.about != "budget" and not drafts_at_once(session):  # something else waits or runs: nothing is asked
            return facts.RemarkAnswered(
                **event_meta(session, meta, facts.RemarkAnswered), text=wording.in_words(command)
            )
    else:
        require_own_work(session, meta, *ASKING_PHASES.get(command.about, ()))
    require(command.about in ("budget", *ASKING_PHASES), f"A service does not ask about “{command.about}”.")
    require(not running_actions(session), "Actions are running: ask when they have ended.")
    action_id = f"{command.about}-{session.version + 1}"
    if command.about == "action":
        if command.action_id not in {action.spec.id for action in next_batch(session.turn)}:
            raise Invalid(f"Action {command.action_id} is not one that could run now.")
        action_id = command.action_id or ""
        asks = any(a.spec.waits_for == "person" for a in next_batch(session.turn) if a.spec.id == action_id)
        if step_of(session, action_id) and not asks:
            raise Invalid(f"Step {action_id} does not ask the user.")
    own = tuple(Option(key=str(number), label=label) for number, label in enumerate(command.options, 1))
    return facts.QuestionAsked(
        **event_meta(session, meta, facts.QuestionAsked),
        question_id=action_id,
        kind=command.about,
        text=command.text,
        options=OPTIONS_OF.get(command.about, own),
        form=command.form,
        several=command.several,
        further=command.further,
    )
