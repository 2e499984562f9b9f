"""Commands for answers and choices. Protocol 1 offers choices as options, which its clients send as text. Pure."""

import json

from pydantic import JsonValue

from parley.protocol import client as m
from shared.domain import commands as c
from shared.domain.errors import Invalid
from shared.domain.session import Session
from shared.domain.state_names import OPTION_COMPLETE, OPTION_FEEDBACK, OPTION_KEEP, OPTION_RUN, OPTION_TAKE
from shared.domain.user_commands import UserCommand
from shared.repair.repairer import repair
from shared.repair.schema import properties


def answer_command(message: m.QuestionReply | m.AnswerReply, session: Session) -> UserCommand:
    """The answer to the open question. Without an id it may be an option of the open offer."""
    names_question = message.question_id is not None
    if not names_question and (decision := _offer_decision(message.content, session)):
        return decision
    return c.Answer(text=answer_text(session, message.content), action_id=message.question_id, more=message.more)


def _offer_decision(text: str, session: Session) -> c.TakeOffer | c.KeepOffer | None:
    """The decision about the open offer that the text names, as protocol 1 offers it; None if it is anything else."""
    if session.offer is None:
        return None
    match text.strip().lower():
        case choice if choice == OPTION_TAKE.lower():
            return c.TakeOffer(version=session.offer.version)
        case choice if choice == OPTION_KEEP.lower():
            return c.KeepOffer(version=session.offer.version)
    return None


def continue_command(message: m.ContinueChoice, session: Session) -> UserCommand:
    """The command of an option, case-insensitive; "" asks what to do next; any other text is a new request."""
    if decision := _offer_decision(message.content, session):
        return decision
    options: dict[str, UserCommand] = {
        "": c.Continue(),
        OPTION_FEEDBACK.lower(): c.Continue(),
        OPTION_RUN.lower(): c.Run(),
        OPTION_COMPLETE.lower(): c.Complete(),
    }
    content = message.content.strip()
    return options.get(content.lower()) or c.Say(text=content)


def answer_text(session: Session, text: str) -> str:
    """The answer to record: an object that fits the question's form, or any text if it has none. Raises Invalid."""
    form = session.question.form if session.question else None
    if form is None or form.get("type") != "object":
        return text
    answer = _parse_object(text)
    if answer is None:
        names = ", ".join(properties(form)) or "anything"
        raise Invalid(f"This question has a form: answer with a JSON object of its fields ({names}).")
    checked = repair(answer, form)
    if checked.problems:
        raise Invalid(f"The answer does not fit the form: {'; '.join(checked.problems)}.")
    return json.dumps(checked.arguments, ensure_ascii=False)


def _parse_object(text: str) -> dict[str, JsonValue] | None:
    def reject_constant(name: str) -> None:
        raise ValueError(f"{name} is not a JSON number")

    try:
        value = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
