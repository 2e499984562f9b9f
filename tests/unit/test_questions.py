"""The English questions and paths: what is stored is what the gold SQL gives, and the rule for a right result holds."""

from collections import Counter

import pytest
from pydantic import JsonValue

from tests.support.questions import DATABASES, Request, Walk, load, load_requests, recompute, same

ROWS: list[list[JsonValue]] = [["Guitar", 2], ["Tent", 2], ["Guitar", 3]]


@pytest.mark.parametrize("name", DATABASES)
def test_the_gold_sql_still_gives_the_stored_rows(name: str) -> None:
    for stored, now in zip(load(name), recompute(name), strict=True):
        assert stored == now


@pytest.mark.parametrize("name", DATABASES)
def test_a_question_has_rows_or_a_reason_and_follows_one_before_it(name: str) -> None:
    before: set[str] = set()
    for one in load(name):
        assert one.id not in before
        assert bool(one.after) == (one.kind == "followup")
        assert not one.after or one.after in before
        assert (one.refuse, bool(one.why)) == ((one.kind in ("unanswerable", "harm")),) * 2
        assert bool(one.rows) == bool(one.sql) == (one.columns > 0) == (not one.refuse)
        before.add(one.id)


def test_no_question_is_asked_twice_in_any_of_the_files() -> None:
    asked = [one.question.lower() for name in DATABASES for one in load(name)]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", DATABASES)
def test_each_stored_result_is_right_by_the_rule_with_columns_turned_round_and_one_more(name: str) -> None:
    for one in load(name):
        if not one.refuse:
            got = [[f"id {place}", *reversed(row)] for place, row in enumerate(one.rows)]
            assert same(one.rows, ["id"] + ["?"] * one.columns, got, one.ordered), one.id


def test_the_order_of_rows_counts_only_if_it_was_asked_for() -> None:
    assert same(ROWS, ["name", "n"], ROWS[::-1])
    assert not same(ROWS, ["name", "n"], ROWS[::-1], ordered=True)
    assert same(ROWS, ["name", "n"], ROWS, ordered=True)


@pytest.mark.parametrize(
    "got",
    [
        [["Guitar", 2], ["Tent", 2]],
        [["Guitar", 2], ["Tent", 2], ["Guitar", 3], ["Guitar", 3]],
        [["Guitar", 2], ["Guitar", 2], ["Tent", 3]],  # the columns alone are right, their pairs are not
        [["Guitar", 2], ["Tent", 2], ["Guitar", 3.01]],
        [["guitar", 2], ["Tent", 2], ["guitar", 3]],
        [["Guitar", 2], ["Tent", 2], ["Guitar", None]],
    ],
)
def test_other_rows_are_wrong(got: list[list[JsonValue]]) -> None:
    assert not same(ROWS, ["name", "n"], got)


def test_columns_that_are_missing_are_wrong() -> None:
    assert not same(ROWS, ["name"], [row[:1] for row in ROWS])
    assert not same([[2, 2]], ["n"], [[2]])  # one got column does not stand for two


@pytest.mark.parametrize(("expected", "got"), [(5, 5.0), (2.99, 2.987), (1, True), (2024, "2024"), (51.47, "51.4748")])
def test_values_that_are_the_same(expected: JsonValue, got: JsonValue) -> None:
    assert same([[expected]], ["value"], [[got]])


@pytest.mark.parametrize(("expected", "got"), [("0577", 577), ("0577", "577"), (5, 5.01), (None, 0), ("", None)])
def test_values_that_are_not(expected: JsonValue, got: JsonValue) -> None:
    assert not same([[expected]], ["value"], [[got]])


def test_no_rows_are_right_when_none_are_expected() -> None:
    assert same([], ["name"], [])
    assert not same([], ["name"], [["Tent"]])


def test_requests_are_sixty_with_one_kind_of_expectation_each() -> None:
    requests = load_requests()
    assert len({one.id for one in requests}) == len({one.request for one in requests}) == 60
    for one in requests:
        assert [bool(one.path), bool(one.paths), one.question].count(True) == 1
        for walk in one.walks():
            assert len({walk.path, *walk.also}) == 1 + len(walk.also)
    flows = Counter(one.flow for one in requests if one.path)
    assert flows == {"text_to_sql": 32, "complaint_triage": 21}
    assert sum(one.question for one in requests) == 4
    assert [[walk.flow for walk in one.paths] for one in requests if one.paths] == [[*flows]] * 3


def test_a_proposed_path_is_right_when_it_is_among_the_expected_ones() -> None:
    one = Request(id="p", request="?", flow="f", path=("a", "b"), also=(("b",),))
    assert one.right([("f", ["a", "b"])])
    assert one.right([("f", ["b"])])
    assert not one.right([("f", ["a"])])
    assert not one.right([("g", ["b"])])
    assert not one.right([])
    assert not one.right([("f", ["b"])] * 2)
    two = Request(id="p", request="?", paths=(Walk(flow="f", path=("a",)), Walk(flow="g", path=("b",))))
    assert two.right([("f", ["a"]), ("g", ["b"])])
    assert not two.right([("g", ["b"]), ("f", ["a"])])
    assert Request(id="p", request="?", question=True).right([])
    assert not Request(id="p", request="?", question=True).right([("f", ["a"])])
