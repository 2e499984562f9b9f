"""Phrases and patterns in requests."""

import pytest

from rehearsal.matching import fill_pattern, has_phrase

PLACES = {"state": {"york": "YO", "new york": "NY"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("A to-do list!", True), ("my To Do lists", True), ("to list", False), ("list to do", False), ("", False)],
)
def test_a_phrase_is_found_anywhere_in_a_text(text: str, expected: bool) -> None:
    assert has_phrase(text, ("to do list*",)) is expected


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Orders in New York?", {"state": "NY"}),
        ("orders in york", {"state": "YO"}),
        ("orders in Ohio", None),
        ("orders in", None),
        ("all orders in York", None),
        ("orders in York, please", None),
    ],
)
def test_a_pattern_matches_all_words(text: str, values: dict[str, str] | None) -> None:
    assert fill_pattern("orders in {state}", text, PLACES) == values


def test_a_place_without_known_values_holds_one_word() -> None:
    assert fill_pattern("orders in {city}", "Orders in Salem", PLACES) == {"city": "salem"}
