"""An answer to a question that has a form: a JSON object, held against the form's JSON schema. Pure."""

import json

from pydantic import JsonValue

from shared.domain.errors import Invalid
from shared.domain.session import Session
from shared.repair.schema import properties
from shared.repair.work import repair


def answer_text(session: Session, text: str) -> str:
    """The answer as it is recorded. A question without a form takes any text. Raises Invalid."""
    form = session.question.form if session.question else None
    if form is None or form.get("type") != "object":
        return text
    answer = _object(text)
    if answer is None:
        names = ", ".join(properties(form)) or "anything"
        raise Invalid(f"This question has a form: answer with a JSON object of its fields ({names}).")
    checked = repair(answer, form)
    if checked.problems:
        raise Invalid(f"The answer does not fit the form: {'; '.join(checked.problems)}.")
    return json.dumps(checked.arguments, ensure_ascii=False)


def _object(text: str) -> dict[str, JsonValue] | None:
    def refused(name: str) -> None:
        raise ValueError(f"{name} is no number of JSON")

    try:
        found = json.loads(text, parse_constant=refused)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
