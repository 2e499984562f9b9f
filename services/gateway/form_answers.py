"""Answers to questions with a form: JSON objects that are checked against the form's JSON schema. Pure."""

import json

from pydantic import JsonValue

from shared.domain.errors import Invalid
from shared.domain.session import Session
from shared.repair.repairer import repair
from shared.repair.schema import properties


def answer_text(session: Session, text: str) -> str:
    """The answer to record. A question without a form accepts any text. Raises Invalid."""
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
