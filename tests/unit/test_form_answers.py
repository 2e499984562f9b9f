"""An answer to a question with a form is checked against the form before it is recorded."""

import json
from typing import Any

import pytest

from services.gateway.messages.plan_commands import answer_text
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.transcript.dialogue import OpenQuestion
from shared.journal.summary import describe_answer

ADDRESS = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string"}, "boxes": {"type": "integer", "minimum": 1}},
}


def session_with_question(form: dict[str, Any] | None) -> Session:
    return Session(
        id="s", question=OpenQuestion(action_id="t1.s1", about="action", text="Where to?", options=(), form=form)
    )


def test_fields_are_recorded_with_the_types_of_the_form() -> None:
    assert json.loads(answer_text(session_with_question(ADDRESS), '{"city": "Oslo", "boxes": "2"}')) == {
        "city": "Oslo",
        "boxes": 2,
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Oslo", r"answer with a JSON object of its fields \(city, boxes\)"),
        ('["Oslo"]', "answer with a JSON object"),
        ('{"city": "Oslo", "boxes": NaN}', "answer with a JSON object"),
        ('{"boxes": 2}', "city"),
        ('{"city": "Oslo", "boxes": "many"}', "boxes"),
    ],
)
def test_an_answer_that_does_not_fit_the_form_is_refused_with_the_problems(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        answer_text(session_with_question(ADDRESS), text)


def test_a_question_without_a_form_takes_any_text() -> None:
    assert [answer_text(session_with_question(form), "Oslo") for form in (None, {"kind": "tables", "tables": []})] == [
        "Oslo",
        "Oslo",
    ]


def test_the_journal_shows_the_fields_of_an_answer() -> None:
    assert describe_answer('{"city": "Oslo", "boxes": 2}') == "city: Oslo · boxes: 2"
    assert describe_answer("Oslo") == "Oslo"
