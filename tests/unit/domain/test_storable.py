"""What a model, a tool or a person says is stored so that it can be read for ever."""

import json
from typing import Any, NamedTuple

import pytest

from parley.events import dump_event, parse_event
from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.storable import storable
from tests.unit.domain.spec import TO_PLAN, given


class Pair(NamedTuple):
    name: str
    value: Any


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain 🚀", "plain 🚀"),
        ("a\x00b", "a�b"),
        ("\x00", "�"),
        ("half \ud83d end", "half � end"),
        ("\ude80", "�"),
        ("\ud83d\ude80", "🚀"),
        ("a literal \\u0000", "a literal \\u0000"),
    ],
)
def test_a_text_keeps_all_that_can_be_stored(text: str, stored: str) -> None:
    assert storable({"deep": [{text: (text, 1, None, True)}]}) == {"deep": [{stored: (stored, 1, None, True)}]}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({"a\x00": 1, "a\ufffd": 2}, {"a\ufffd": 2}),
        ({"a\ufffd": 1, "a\x00": 1}, {"a\ufffd": 1}),
        (("a\x00", "b"), ("a\ufffd", "b")),
        (Pair("a\x00", 1), Pair("a\ufffd", 1)),
        ([Pair("a", 1), Pair("b", ["\x00"])], [Pair("a", 1), Pair("b", ["\ufffd"])]),
    ],
)
def test_names_that_become_one_and_tuples_with_names(value: object, stored: object) -> None:
    result = storable(value)
    assert (result, type(result)) == (stored, type(stored))


def test_what_can_be_stored_is_returned_as_it_is() -> None:
    value = {"a": ["b", {"c": ("d", 1.5)}]}
    assert storable(value) is value


def test_a_drafted_plan_with_a_nul_is_recorded_without_it() -> None:
    draft = c.DraftPlan(goal="a\x00b", steps=(Step(text="copy\x00it"),), notes="\x00")
    event = given(*TO_PLAN[:1]).when(draft).then("plan.drafted").event
    body = dump_event(event)
    assert b"\\u0000" not in body
    assert parse_event(body) == event
    assert json.loads(body)["goal"] == "a�b"
