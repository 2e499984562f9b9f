"""Checks of JSON schemas against what servers document, independent of the code that creates Parley's schemas.

OpenAI: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
llama.cpp: grammars/README.md, “JSON Schemas → GBNF”, and the order in which its converter checks keywords.
"""

from collections.abc import Iterator, Mapping
from typing import Any

type Schema = Mapping[str, Any]

OPENAI = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description"}
OPENAI |= {"minItems", "maxItems"}
SIMPLE = {"string", "number", "integer", "boolean", "null"}
LEVELS, PROPERTIES, ENUM_VALUES, CHARACTERS = 10, 5_000, 1_000, 120_000
MANY_VALUES, MANY_VALUES_CHARACTERS = 250, 15_000  # the limit for an enumeration with more than 250 values
REPETITIONS = 2_000  # how often a grammar may repeat a rule
UNSUPPORTED = {
    "allOf",
    "not",
    "if",
    "prefixItems",
    "patternProperties",
    "uniqueItems",
    "contains",
    "dependentSchemas",
    "$ref",
}


def openai_problems(schema: Schema) -> Iterator[str]:
    """Why OpenAI's strict mode would refuse the schema."""
    if schema.get("type") != "object":
        yield "the root is no object"
    nodes = [*_nodes("", schema, 0)]
    for place, node, levels in nodes:
        yield from (f"{place}: {problem}" for problem in _strict_problems(node))
        if levels > LEVELS:
            yield f"{place}: {levels} levels"
    values = [
        value
        for _, node, _ in nodes
        for value in (*node.get("enum", ()), *([node["const"]] if "const" in node else ()))
    ]
    names = [name for _, node, _ in nodes for name in node.get("properties", ())]
    if len(names) > PROPERTIES or len(values) > ENUM_VALUES or sum(map(len, map(str, (*names, *values)))) > CHARACTERS:
        yield "it is too large"


def _strict_problems(node: Schema) -> Iterator[str]:
    if unknown := node.keys() - OPENAI:
        yield f"keywords {sorted(unknown)}"
    kinds = node.get("type")
    if "anyOf" in node:
        if node.keys() - {"anyOf", "description"} or not node["anyOf"]:
            yield "alternatives beside other keywords, or none"
        return
    if isinstance(kinds, list) and not (kinds and SIMPLE.issuperset(kinds)):
        yield f"a union of {kinds}"
    if not isinstance(kinds, list) and kinds not in {*SIMPLE, "object", "array"}:
        yield "no type"
    if kinds == "array" and "items" not in node:
        yield "a list of anything"
    if kinds == "object" and not (
        node.get("additionalProperties") is False and node.get("required") == list(node.get("properties", {"": 0}))
    ):
        yield "an object that is not closed, or with optional properties"
    values = node.get("enum", ())
    if len(values) > MANY_VALUES and sum(map(len, map(str, values))) > MANY_VALUES_CHARACTERS:
        yield "an enumeration that is too long"


def llama_problems(schema: Schema) -> Iterator[str]:
    """Why llama.cpp's converter would refuse the schema, or create a grammar that enforces only a part of it."""
    for place, node, _ in _nodes("", schema, 0):
        if unsupported := node.keys() & UNSUPPORTED:
            yield f"{place}: {sorted(unsupported)} is ignored or not supported"
        if "anyOf" in node and node.keys() & {"properties", "type", "items"}:
            yield f"{place}: anyOf hides what stands beside it"
        if node.get("maxItems", 0) > REPETITIONS:
            yield f"{place}: a grammar cannot repeat a rule {node['maxItems']} times"
        if not node.keys() & {"anyOf", "type", "const", "enum"} or node == {"type": "object"}:
            yield f"{place}: takes any JSON"
        if node.get("type") == "object" and "properties" not in node and node.get("additionalProperties") is not False:
            yield f"{place}: an object of anything"


def _nodes(place: str, node: Schema, levels: int) -> Iterator[tuple[str, Schema, int]]:
    levels += node.get("type") in ("object", "array")
    yield place, node, levels
    for name, part in node.get("properties", {}).items():
        yield from _nodes(f"{place}/{name}", part, levels)
    for number, part in enumerate(node.get("anyOf", ())):
        yield from _nodes(f"{place}/{number}", part, levels)
    if "items" in node:
        yield from _nodes(f"{place}/items", node["items"], levels)
