"""Hostile schemas and arguments: the repair raises no exception and takes bounded time."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.plan_checks.argument_values import value_problems
from shared.repair import repair
from shared.repair.schema import schema_problem, without_blanks
from tests.support.cpu_time import takes_at_most

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["1e999", "9" * 5000]),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=4), inside, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(["a", "b", "order_id", "itemIds"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null", "foo"])
SCHEMAS: Any = st.recursive(
    JSON,
    lambda inside: st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES | JSON, max_size=3) | JSON,
            "properties": st.dictionaries(NAMES, inside, max_size=3) | JSON,
            "required": st.lists(NAMES | JSON, max_size=3) | JSON,
            "enum": st.lists(JSON, max_size=3) | JSON,
            "anyOf": st.lists(inside, max_size=3) | JSON,
            "oneOf": st.lists(inside, max_size=3) | JSON,
            "items": inside | st.lists(inside, max_size=2),
            "additionalProperties": inside,
            "$ref": st.just("#") | JSON,
            "pattern": st.just("(a+)+$") | JSON,
        },
    ),
    max_leaves=6,
)


@given(
    schema=SCHEMAS.filter(lambda schema: isinstance(schema, dict)), sent=JSON | st.dictionaries(NAMES, JSON, max_size=4)
)
def test_no_schema_raises(schema: Any, sent: Any) -> None:
    result = repair(sent, schema)
    assert all(map(str, result.repairs))
    assert schema_problem(schema) is not None
    assert schema_problem(schema) or not schema_problem(without_blanks(schema))


NESTED: Any = {"type": "object", "properties": {"a": {}}}
for _ in range(300):
    NESTED = {"type": "object", "properties": {"a": NESTED}}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array"}, 'not of type "object"'),
        ({"type": "object", "properties": ["a"]}, "/properties must be an object"),
        ({"type": "object", "properties": {"a": 5}}, "/properties/a is not a schema"),
        ({"type": "object", "required": "a"}, "/required must be a list"),
        ({"type": "object", "required": [{}]}, "/required must be a list"),
        ({"type": "object", "properties": {"a": {"type": ["string", {}]}}}, "/properties/a/type is not a known type"),
        ({"type": "object", "properties": {"a": {"type": {"x": 1}}}}, "/properties/a/type is not a known type"),
        ({"type": "object", "properties": {"a": {"enum": "abc"}}}, "/properties/a/enum must be a list"),
        ({"type": "object", "properties": {"a": {"anyOf": {"type": "string"}}}}, "/properties/a/anyOf must be a list"),
        ({"type": "object", "properties": {"a": {"anyOf": [1]}}}, "/properties/a/anyOf/0 is not a schema"),
        ({"type": "object", "properties": {"a": {"items": [1]}}}, "/properties/a/items/0 is not a schema"),
        ({"type": "object", "$ref": "http://127.0.0.1:1/x"}, "/$ref does not lead to a part of this schema"),
        ({"type": "object", "properties": {f"p{n}": {} for n in range(30_000)}}, "more than 20,000 values"),
        (NESTED, "nested more than 32 deep"),
    ],
)
def test_the_problem_of_a_schema_is_reported(schema: Any, fault: str) -> None:
    assert fault in schema_problem(schema)
    repair({"a": {"a": "b"}, "b": [1]}, schema)


def test_schemas_of_real_tools_are_accepted() -> None:
    tree: Any = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}, "any": True}}
    old: Any = {"type": "object", "properties": {"pair": {"items": [{"type": "string"}, {}]}, "a": {"required": True}}}
    assert (schema_problem(tree), schema_problem(old), schema_problem({"type": "object"})) == ("", "", "")
    assert repair({"children": [{"children": []}], "any": 1}, tree).problems == ()


MANY = {f"field_{n}": n for n in range(40_000)}
QUOTES = '\\"' * 50_000
ROWS: Any = {"rows": [{}] * 9_990}


def rows(**items: Any) -> Any:
    return {"type": "object", "properties": {"rows": {"items": {"type": "object", **items}}}}


def fields(count: int, prefix: str = "p") -> dict[str, Any]:
    return {f"{prefix}{n}": {"type": "string"} for n in range(count)}


SLOW: dict[str, Callable[[], tuple[Any, Any]]] = {
    "unknown fields": lambda: (MANY, {"properties": {f"name{n}": {} for n in range(1_000)}, "required": ["a"]}),
    "branches": lambda: (
        {"a": ["x"] * 40_000},
        {"properties": {"a": {"items": {"anyOf": [{"enum": [str(n)]} for n in range(1_000)]}}}},
    ),
    "texts in branches": lambda: (
        {"a": "[1," * 33_000},
        {"properties": {"a": {"anyOf": [{"type": "array"}, {"type": "object"}] * 500}}},
    ),
    "an enum for each": lambda: (
        {"a": list(range(40_000))},
        {"properties": {"a": {"items": {"enum": [f"x{n}" for n in range(2_000)]}}}},
    ),
    "unclosed quotes": lambda: ({"a": f"{{{QUOTES}"}, {"properties": {"a": {"type": "object"}}}),
    "one text of quotes": lambda: (f"{{{QUOTES}", {"properties": {"a": {}, "b": {}}}),
    "rows of many parts": lambda: (ROWS, rows(allOf=[{"properties": fields(20, f"{n}-")} for n in range(30)])),
    "rows that lack fields": lambda: (ROWS, rows(properties=fields(900), required=list(fields(900)))),
}


@pytest.mark.parametrize("name", SLOW)
def test_the_time_is_bounded(name: str) -> None:
    """Each takes about 0.3 seconds on an idle machine; without bounds it would take from half a minute to hours."""
    arguments, schema = SLOW[name]()

    def check() -> None:
        repair(arguments, schema)
        if isinstance(arguments, dict):
            value_problems(arguments, schema, "t")

    assert takes_at_most(6, check)


FREE = {"type": "object", "properties": {"a": {"type": "string"}, "any": {}}}
EITHER = {"properties": fields(2), "anyOf": [{"required": ["p0"]}, {"required": ["p1"]}]}
SEPARATORS = {"properties": {"by": {"enum": [", ", " - ", "tab"]}}}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({**FREE, "additionalProperties": {}}, {"a": "x", "more": 1}),
        ({**FREE, "additionalProperties": True}, {"a": "x", "more": 1}),
        ({**FREE, "additionalProperties": {"type": "string"}}, {"any": 5}),
        ({**FREE, "patternProperties": {"^x-": {}}, "additionalProperties": False}, {"x-more": 1}),
        ({"patternProperties": {"^x-": {}}, "additionalProperties": {"type": "string"}}, {"x-more": 1}),
        ({"properties": {"o": {**FREE, "additionalProperties": {}}}}, {"o": {"more": 1}}),
        ({**FREE, "allOf": [{"properties": {"b": {"type": "string"}}}]}, {"a": "x", "b": "y"}),
        ({"anyOf": [{"properties": fields(1)}, {"properties": fields(1, "q")}]}, {"q0": "x"}),
        ({"$ref": "#/$defs/A", "$defs": {"A": FREE}}, {"a": "x"}),
        (EITHER, {"p1": "x"}),
        (SEPARATORS, {"by": " - "}),
        (SEPARATORS, {"by": "tab"}),
    ],
)
def test_arguments_that_a_schema_allows_are_sent_as_they_are(schema: Any, arguments: Any) -> None:
    assert value_problems(arguments, schema, "t") == ()
    assert repair(arguments, schema).arguments == arguments


@pytest.mark.parametrize(
    ("schema", "arguments", "problem", "repaired"),
    [
        (FREE, {"more": 1}, "the tool t has no argument “more”.", {}),
        ({**FREE, "additionalProperties": False}, {"more": 1}, "the tool t has no argument “more”.", {}),
        (EITHER, {}, "the tool t needs the argument “p0”.", {}),
        (SEPARATORS, {"by": " 'tab'"}, 'argument by: write "tab", without what is around it.', {"by": "tab"}),
        (SEPARATORS, {"by": " x "}, 'argument by: it must be one of ", ", " - ", "tab", not " x ".', {"by": " x "}),
    ],
)
def test_other_arguments_are_not(schema: Any, arguments: Any, problem: str, repaired: Any) -> None:
    assert value_problems(arguments, schema, "t") == (problem,)
    assert repair(arguments, schema).arguments == repaired


def test_oversized_arguments_are_a_problem() -> None:
    deep = json.loads("[" * 200 + "]" * 200)
    assert repair({"a": deep}, {"type": "object"}).problems
    text = '{"a":' * 200 + "1" + "}" * 200
    assert repair({"a": text}, {"properties": {"a": {"type": "object"}}}).problems
