"""The English questions and path requests: the stored rows match the gold SQL, and results compare correctly."""

from collections import Counter

import pytest
from pydantic import JsonValue

from tests.support.questions import DATABASES, Request, Walk, load, load_requests, recompute, same

ROWS: list[list[JsonValue]] = [["Guitar", 2], ["Tent", 2], ["Guitar", 3]]


@pytest.mark.parametrize("name", DATABASES)
def test_the_gold_sql_gives_the_stored_rows(name: str) -> None:
    for stored, recomputed in zip(load(name), recompute(name), strict=True):
        assert stored == recomputed


@pytest.mark.parametrize("name", DATABASES)
def test_a_question_has_rows_or_a_reason_for_its_refusal(name: str) -> None:
    earlier_ids: set[str] = set()
    for question in load(name):
        assert question.id not in earlier_ids
        assert bool(question.after) == (question.kind == "followup")
        assert not question.after or question.after in earlier_ids
        assert (question.refuse, bool(question.why)) == ((question.kind in ("unanswerable", "harm")),) * 2
        assert bool(question.rows) == bool(question.sql) == (question.columns > 0) == (not question.refuse)
        earlier_ids.add(question.id)


def test_no_question_occurs_twice() -> None:
    texts = [question.question.lower() for name in DATABASES for question in load(name)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", DATABASES)
def test_a_stored_result_is_right_with_reordered_and_extra_columns(name: str) -> None:
    for question in load(name):
        if not question.refuse:
            got = [[f"id {index}", *reversed(row)] for index, row in enumerate(question.rows)]
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
        [["Guitar", 2], ["Guitar", 2], ["Tent", 3]],  # each column is right, but the pairs are not
        [["Guitar", 2], ["Tent", 2], ["Guitar", 3.01]],
        [["guitar", 2], ["Tent", 2], ["guitar", 3]],
        [["Guitar", 2], ["Tent", 2], ["Guitar", None]],
    ],
)
def test_different_rows_are_wrong(got: list[list[JsonValue]]) -> None:
    assert not same(ROWS, ["name", "n"], got)


def test_missing_columns_are_wrong() -> None:
    assert not same(ROWS, ["name"], [row[:1] for row in ROWS])
    assert not same([[2, 2]], ["n"], [[2]])  # one result column cannot match two expected ones


@pytest.mark.parametrize(("expected", "got"), [(5, 5.0), (2.99, 2.987), (1, True), (2024, "2024"), (51.47, "51.4748")])
def test_values_that_count_as_equal(expected: JsonValue, got: JsonValue) -> None:
    assert same([[expected]], ["value"], [[got]])


@pytest.mark.parametrize(("expected", "got"), [("0577", 577), ("0577", "577"), (5, 5.01), (None, 0), ("", None)])
def test_values_that_count_as_different(expected: JsonValue, got: JsonValue) -> None:
    assert not same([[expected]], ["value"], [[got]])


def test_no_rows_are_right_when_none_are_expected() -> None:
    assert same([], ["name"], [])
    assert not same([], ["name"], [["Tent"]])


def test_each_of_the_sixty_path_requests_has_one_kind_of_expectation() -> None:
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
    two_flows = Request(id="p", request="?", paths=(Walk(flow="f", path=("a",)), Walk(flow="g", path=("b",))))
    assert two_flows.right([("f", ["a"]), ("g", ["b"])])
    assert not two_flows.right([("g", ["b"]), ("f", ["a"])])
    assert Request(id="p", request="?", question=True).right([])
    assert not Request(id="p", request="?", question=True).right([("f", ["a"])])
