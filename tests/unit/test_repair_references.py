"""Arguments behind `$ref`, `allOf` and alternatives are checked and repaired like those with an inline schema."""

from typing import Any

import pytest

from parley.protocol.tools import ToolSpec
from shared.plan_checks.calls import repair_arguments
from shared.repair import repair

QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {"team": {"type": ["string", "null"]}, "limit": {"type": "integer", "default": 20}},
    "required": ["team"],
}
TEAM = {"properties": {"team": QUERY["properties"]["team"]}, "required": ["team"]}
LIMIT = {"properties": {"limit": QUERY["properties"]["limit"]}}
Q = {"$ref": "#/$defs/Q"}


def arguments_schema(query: dict[str, Any], **definitions: Any) -> dict[str, Any]:
    properties = {
        "query": query,
        "many": {"type": "array", "items": query},
        "named": {"type": "object", "additionalProperties": query},
    }
    return {"type": "object", "properties": properties, "required": ["query"], "$defs": definitions}


INLINE = arguments_schema(QUERY)
FORMS: dict[str, dict[str, Any]] = {
    "reference": arguments_schema(Q, Q=QUERY),
    "older drafts": arguments_schema({"$ref": "#/definitions/Q"}) | {"definitions": {"Q": QUERY}},
    "beside siblings": arguments_schema({**Q, "description": "What to look for.", "default": None}, Q=QUERY),
    "chain": arguments_schema(Q, Q={"$ref": "#/$defs/R"}, R={"allOf": [{"$ref": "#/$defs/S"}]}, S=QUERY),
    "only allOf": arguments_schema({"allOf": [Q]}, Q=QUERY),
    "parts": arguments_schema({"type": "object", "allOf": [{"$ref": "#/$defs/T"}, LIMIT]}, T=TEAM),
    "siblings that add": arguments_schema({"$ref": "#/$defs/T", **LIMIT}, T={"type": "object", **TEAM}),
    "anyOf": arguments_schema({"anyOf": [Q, {"type": "null"}]}, Q=QUERY),
    "oneOf": arguments_schema({"oneOf": [{"type": "integer"}, Q]}, Q=QUERY),
    "alternatives beside fields": arguments_schema(
        {**QUERY, "anyOf": [{"required": ["team"]}, {"required": ["limit"]}]}
    ),
    "escaped pointer": arguments_schema({"$ref": "#/$defs/a~1b%20c"}, **{"a/b c": QUERY}),
    "pointer into a list": arguments_schema({"$ref": "#/$defs/P/anyOf/1"}, P={"anyOf": [{"type": "null"}, QUERY]}),
    "circle beside fields": arguments_schema(Q, Q={**QUERY, "allOf": [Q]}),
}
GIVEN: list[dict[str, Any]] = [
    {"query": '{"team": "a"}'},
    {"query": {"team": "a", "limit": "five"}},
    {"query": {}},
    {"query": {"team": "a", "limit": "5"}},
    {"query": {"Team": "a", "nonsense": 1}},
    {"query": {"team": None, "limit": None}},
    {"query": {"team": "a"}, "many": [{"team": "b", "limit": None}, {"limit": 3}]},
    {"query": {"team": "a"}, "named": {"x": {"team": "b", "limit": "7"}, "y": {"team": 1.5}}},
]


def spec(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="find", description="", parameters=schema, effect="read", origin="x")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_a_schema_behind_references_counts_as_if_it_were_inline(form: str, given: dict[str, Any]) -> None:
    inline = repair(given, INLINE)
    repaired = repair(given, FORMS[form])
    if form == "alternatives beside fields" and given["query"] == {}:
        assert repaired.problems == ("query.team is missing",)
    else:
        assert (repaired.arguments, bool(repaired.problems)) == (inline.arguments, bool(inline.problems))


def test_nulls_that_only_the_strict_schema_asks_for_are_dropped_at_every_depth() -> None:
    leaf = {
        "type": "object",
        "properties": {
            "plain": {"type": "integer"},
            "may_be_null": {"type": ["string", "null"]},
            "one_of_three": {"enum": ["a", "b", None]},
            "one_of_two": {"enum": ["a", "b"]},
            "alternative": {"anyOf": [{"$ref": "#/$defs/Word"}, {"type": "null"}]},
            "needed": {"type": "integer"},
            "anything": {},
        },
        "required": ["needed"],
    }
    schema = {
        "type": "object",
        "properties": {
            "leaf": {"$ref": "#/$defs/Leaf"},
            "lists": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/$defs/Leaf"}}},
            "either": {
                "anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"$ref": "#/$defs/Leaf"}]
            },
            "map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Leaf"}},
        },
        "$defs": {"Leaf": leaf, "Word": {"type": "string"}},
    }
    given = {**dict.fromkeys(leaf["properties"]), "needed": 1}
    kept = {**dict.fromkeys(("may_be_null", "one_of_three", "alternative", "anything")), "needed": 1}
    sent = repair_arguments({"leaf": given, "lists": [[given]], "either": given, "map": {"k": given}}, spec(schema))
    assert sent.fixes == ()
    assert sent.arguments == {"leaf": kept, "lists": [[kept]], "either": kept, "map": {"k": kept}}


CIRCLE = {"$ref": "#/$defs/A"}
RECURSIVE: dict[str, dict[str, Any]] = {
    "itself": arguments_schema(CIRCLE, A=CIRCLE),
    "two": arguments_schema(CIRCLE, A={"$ref": "#/$defs/B"}, B=CIRCLE),
    "alternatives": arguments_schema(CIRCLE, A={"anyOf": [CIRCLE, CIRCLE]}),
    "all": arguments_schema(CIRCLE, A={"allOf": [CIRCLE] * 500}),
    "grows": arguments_schema(CIRCLE, A={"allOf": [{"anyOf": [CIRCLE] * 20}] * 20, "oneOf": [CIRCLE] * 20}),
    "nowhere": arguments_schema({"$ref": "#/$defs/Missing"}),
    "elsewhere": arguments_schema({"$ref": "#somewhere"}),
    "no text": arguments_schema({"$ref": 5}),
}


@pytest.mark.parametrize("form", RECURSIVE)
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_references_in_circles_or_to_nothing_accept_anything(form: str, given: dict[str, Any]) -> None:
    assert repair(given, RECURSIVE[form]).problems == ()


def test_a_tree_is_repaired_as_deep_as_its_value_goes() -> None:
    node = {"type": "object", "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": CIRCLE}}}
    schema = arguments_schema(CIRCLE, A=node | {"required": ["name"]})
    given: dict[str, Any] = {"name": 7}
    for _ in range(12):
        given = {"name": 7, "kids": [given]}
    repaired = repair({"query": given}, schema)
    assert (len(repaired.fixes), repaired.problems) == (13, ())
