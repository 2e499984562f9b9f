"""Conditions: their syntax, their value in any state, and the Python syntax that they refuse."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.conditions import BadCondition, Condition


@pytest.mark.parametrize(
    ("text", "state", "holds"),
    [
        ('kind == "general"', {"kind": "general"}, True),
        ('kind == "general"', {"kind": "data"}, False),
        ('kind == "general"', {}, False),
        ("missing", {"missing": ""}, False),
        ("missing", {"missing": "salaries"}, True),
        ("not tables", {}, True),
        ("not tables", {"tables": [1]}, False),
        ('kind in ["unsafe", "unanswerable"]', {"kind": "unsafe"}, True),
        ('kind not in ("unsafe", "x")', {"kind": "data"}, True),
        ("not valid and (repairs or 0) < 2", {"valid": False}, True),
        ("not valid and (repairs or 0) < 2", {"valid": False, "repairs": 2}, False),
        ("1 < n <= 3", {"n": 3}, True),
        ("1 < n <= 3", {"n": 4}, False),
        ("n < 3", {}, False),
        ("n > -1", {"n": 0}, True),
        ("n < 3", {"n": "2"}, False),
        ("x in n", {"x": 1, "n": 5}, False),
        ("x not in n", {"x": 1, "n": 5}, True),
        ("details is None", {}, True),
        ("details is not None", {"details": ""}, True),
        ("owner != user_id", {"owner": "a", "user_id": "b"}, True),
        ("True", {}, True),
        ("a or b and c", {"b": 1, "c": 0}, False),
    ],
)
def test_the_value_of_a_condition_in_a_state(text: str, state: dict[str, Any], holds: bool) -> None:
    assert Condition(text).holds(state) is holds


@pytest.mark.parametrize(
    "text",
    [
        "order.status == 1",
        "len(tables) > 1",
        "tables[0]",
        "a + 1 > 2",
        "lambda: 1",
        "[x for x in y]",
        "a if b else c",
        "{'a': 1}",
        "f'{a}'",
        "b'x' == a",
        "(a := 1)",
        "...",
        "*a",
        "-a",
        "-True.real",
        "__import__('os').system('true')",
        "kind ==",
        "kind = 1",
        "import os",
        "",
        "a\nb",
        "a" * 501,
    ],
)
def test_other_python_syntax_is_refused(text: str) -> None:
    with pytest.raises(BadCondition):
        Condition(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("output == " + "-" * 400 + "1", "is more than a condition may hold"),
        ("output == " + "+" * 480 + "1", "is more than a condition may hold"),
        ("a" + ".b" * 240 + " == 1", "is more than a condition may hold"),
        ("a" + "[0]" * 150, "is more than a condition may hold"),
        ("lambda:" * 70 + "a", "is more than a condition may hold"),
        ("a if " * 40 + "b", "is no expression"),
        ("not " * 120 + "a", "is nested more than 50 levels deep"),
        ("[" * 100 + "a" + "]" * 100, "is nested more than 50 levels deep"),
        ("a\0b", "is no expression"),
    ],
)
def test_deep_conditions_are_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(BadCondition, match=words):
        Condition(text)


@pytest.mark.parametrize(
    "text", ["(" * 150 + "a" + ")" * 150, "a < " * 120 + "b", "9" * 490 + " == a", "not " * 49 + "a"]
)
def test_long_conditions_have_a_value(text: str) -> None:
    assert Condition(text).holds({}) in (True, False)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from("abc"), VALUES))
def test_a_condition_is_true_or_false_in_any_state(state: Any) -> None:
    for text in ("a < b", "a in b", "a not in b", "a == b != c", "not a or b", "a >= 1 and b is None", "a in [b, c]"):
        assert Condition(text).holds(state) in (True, False)


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_raises_bad_condition(text: str) -> None:
    with suppress(BadCondition):
        assert Condition(text).holds({}) in (True, False)
