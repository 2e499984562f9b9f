"""Error messages for invalid messages say what to do."""

from itertools import count
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from parley.events.problems import SENTENCES, problem_sentences
from services.gateway.api_errors import ApiError
from services.gateway.messages.parsing import MESSAGE_TYPES, parse_message


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]*$")] = "a"
    number: Annotated[int, Field(gt=0, le=9)] = 1
    share: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.5
    sure: bool = True
    kind: Literal["a", "b"] = "a"
    steps: Annotated[list[str], Field(min_length=1, max_length=2)] = ["x"]
    pair: Annotated[list[str], Field(min_length=2)] = ["x", "y"]
    inner: dict[str, int] = {}

    @field_validator("name")
    @classmethod
    def no_root(cls, name: str) -> str:
        if name == "root":
            raise ValueError("root is not a name.")
        return name


INVALID: tuple[tuple[object, str], ...] = (
    ({"steps": []}, "`steps` must not be empty: give at least one item."),
    ({"steps": ["a", "b", "c"]}, "`steps` may have 2 items at most: leave some out."),
    ({"steps": "x"}, "`steps` must be a list."),
    ({"steps": [5]}, "Step 1 must be text."),
    ({"pair": []}, "`pair` needs at least 2 items."),
    ({"name": ""}, "`name` must not be empty: give at least one character."),
    ({"name": "abcdef"}, "`name` may have 5 characters at most: make it shorter."),
    ({"name": "A"}, "`name` must have the form ^[a-z]*$."),
    ({"name": "root"}, "`name` cannot be used: root is not a name."),
    ({"number": "1"}, "`number` must be a whole number."),
    ({"number": 0}, "`number` must be more than 0."),
    ({"number": 10}, "`number` must be 9 or less."),
    ({"share": -1}, "`share` must be 0.0 or more."),
    ({"share": 2}, "`share` must be less than 1.0."),
    ({"share": float("inf")}, "`share` must be a number that is not infinite."),
    ({"sure": 1}, "`sure` must be true or false."),
    ({"kind": "c"}, "`kind` must be 'a' or 'b'."),
    ({"inner": 5}, "`inner` must be an object with fields."),
    ({"surprise": 5}, "`surprise` is not known here: leave it out."),
    (5, "The form must be an object with fields."),
    ({"number": 0, "sure": 1}, "`number` must be more than 0. `sure` must be true or false."),
)


@pytest.mark.parametrize(("data", "message"), INVALID)
def test_each_problem_is_a_sentence_that_says_what_to_do(data: object, message: str) -> None:
    with pytest.raises(ValidationError) as invalid:
        Form.model_validate(data)
    assert problem_sentences(invalid.value.errors(), whole="form") == message


def test_an_unknown_error_type_keeps_the_validators_message() -> None:
    assert (
        problem_sentences([{"type": "uuid_type", "loc": (), "msg": "No UUID"}]) == "The body cannot be used: No UUID."
    )
    assert "uuid_type" not in SENTENCES


def test_at_most_three_problems_are_reported() -> None:
    missing = [{"type": "missing", "loc": ("body", name), "msg": "Field required"} for name in "abcd"]
    result = "`a` is missing: give it. `b` is missing: give it. `c` is missing: give it."
    assert problem_sentences(missing, skip=1) == result
    endless = ({"type": "missing", "loc": ("body", number), "msg": "Field required"} for number in count())
    assert problem_sentences(endless, skip=1).startswith("`0` is missing: give it. `1` is missing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "approve"}', "There is no message of type “approve”. Did you mean “approval”?"),
        ('{"type": "zzz"}', "There is no message of type “zzz”. The types are:"),
        ('{"type": null}', "There is no message of this type. The types are:"),
        ('{"type": "A-key-0123456789"}', "There is no message of this type. The types are:"),
        ("{}", "The message has no `type`. The types are:"),
    ],
)
def test_an_unknown_message_type_is_reported_with_the_known_ones(text: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_message(text)
    assert refused.value.message.startswith(message)
    assert refused.value.message.endswith(f"{', '.join(MESSAGE_TYPES)}.")
    assert {"user_message", "approval", "close"} <= set(MESSAGE_TYPES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "user_message"}', "`content` is missing: give it."),
        ('{"type": "edit", "version": 2, "steps": []}', "`steps` must not be empty: give at least one item."),
        ("[]", "The message must be an object with fields."),
        ('{"type": "stop", "Odd-Name": 1}', "`Odd-Name` is not known here: leave it out."),
        ('{"type": "user_message", "content": "a", "settings": 5}', "`settings` must be an object with fields."),
        ('{"type": "edit", "version": 2, "steps": [5]}', "Step 1 must be an object with fields, or must be text."),
        (
            '{"type": "edit", "version": 2, "steps": [{"text": "a", "when": "now"}]}',
            "Step 1: `when` is not known here: leave it out.",
        ),
    ],
)
def test_an_invalid_message_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_message(text)
    assert refused.value.message == f"The message cannot be read. {message}"
