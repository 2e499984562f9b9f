"""The English questions and paths: the stored rows match the gold SQL, and the comparison of results is right."""

from collections import Counter

import pytest
from pydantic import JsonValue

from tests.support.questions import DATABASES, Request, Walk, load, load_requests, recompute, same

ROWS: list[list[JsonValue]] = [["Guitar", 2], ["Tent", 2], ["Guitar", 3]]


@pytest.mark.parametrize("name", DATABASES)
def test_the_gold_sql_gives_the_stored_rows(name: str) -> None:
    for stored, now in zip(load(name), recompute(name), strict=True):
        assert stored == now


@pytest.mark.parametrize("name", DATABASES)
def test_a_question_has_rows_or_a_reason_and_follows_up_an_earlier_one(name: str) -> None:
    before: set[str] = set()
    for question in load(name):
        assert question.id not in before
        assert bool(question.after) == (question.kind == "followup")
        assert not question.after or question.after in before
        assert (question.refuse, bool(question.why)) == ((question.kind in ("unanswerable", "harm")),) * 2
        assert bool(question.rows) == bool(question.sql) == (question.columns > 0) == (not question.refuse)
        before.add(question.id)


def test_no_question_is_asked_twice_in_any_of_the_files() -> None:
    texts = [question.question.lower() for name in DATABASES for question in load(name)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", DATABASES)
def test_a_stored_result_is_right_with_reordered_and_extra_columns(name: str) -> None:
    for question in load(name):
        if not question.refuse:
            got = [[f"id {place}", *reversed(row)] for place, row in enumerate(question.rows)]
            assert same(question.rows, ["id"] + ["?"] * question.columns, got, question.ordered), question.id


def test_the_order_of_rows_matters_only_if_requested() -> None:
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


def test_missing_columns_are_wrong() -> None:
    assert not same(ROWS, ["name"], [row[:1] for row in ROWS])
    assert not same([[2, 2]], ["n"], [[2]])  # one got column does not stand for two


@pytest.mark.parametrize(("expected", "got"), [(5, 5.0), (2.99, 2.987), (1, True), (2024, "2024"), (51.47, "51.4748")])
def test_equal_values(expected: JsonValue, got: JsonValue) -> None:
    assert same([[expected]], ["value"], [[got]])


@pytest.mark.parametrize(("expected", "got"), [("0577", 577), ("0577", "577"), (5, 5.01), (None, 0), ("", None)])
def test_unequal_values(expected: JsonValue, got: JsonValue) -> None:
    assert not same([[expected]], ["value"], [[got]])


def test_no_rows_are_right_when_none_are_expected() -> None:
    assert same([], ["name"], [])
    assert not same([], ["name"], [["Tent"]])


def test_there_are_sixty_path_requests_with_one_kind_of_expectation_each() -> None:
    requests = load_requests()
    assert len({request.id for request in requests}) == len({request.request for request in requests}) == 60
    for request in requests:
        assert [bool(request.path), bool(request.paths), request.question].count(True) == 1
        for walk in request.walks():
            assert len({walk.path, *walk.also}) == 1 + len(walk.also)
    flows = Counter(request.flow for request in requests if request.path)
    assert flows == {"text_to_sql": 32, "complaint_triage": 21}
    assert sum(request.question for request in requests) == 4
    assert [[walk.flow for walk in request.paths] for request in requests if request.paths] == [[*flows]] * 3


def test_a_path_is_right_if_it_is_among_the_expected_ones() -> None:
    request = Request(id="p", request="?", flow="f", path=("a", "b"), also=(("b",),))
    assert request.right([("f", ["a", "b"])])
    assert request.right([("f", ["b"])])
    assert not request.right([("f", ["a"])])
    assert not request.right([("g", ["b"])])
    assert not request.right([])
    assert not request.right([("f", ["b"])] * 2)
    two = Request(id="p", request="?", paths=(Walk(flow="f", path=("a",)), Walk(flow="g", path=("b",))))
    assert two.right([("f", ["a"]), ("g", ["b"])])
    assert not two.right([("g", ["b"]), ("f", ["a"])])
    assert Request(id="p", request="?", question=True).right([])
    assert not Request(id="p", request="?", question=True).right([("f", ["a"])])
