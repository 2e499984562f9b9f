"""A JSON schema that a stranger wrote: what is wrong with it, and its keywords read without trusting their types.

Nothing here evaluates a schema. `pattern` and `format` are left to the server that owns the tool: it checks its own
arguments anyway, and a regular expression can take for ever.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from shared.repair.bounds import is_bounded

type Schema = Mapping[str, JsonValue]
KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
NODES, DEPTH = 20_000, 32
_ONE = ("additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def fault_of(schema: JsonValue) -> str:
    """Why the schema cannot be a tool's, as the end of a sentence; "" if it can."""
    if not is_bounded(schema, nodes=NODES, depth=DEPTH):
        return f"its schema has more than {NODES:,} values, or is nested more than {DEPTH} deep"
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return 'its schema is not of type "object"'
    pending: list[tuple[str, JsonValue]] = [("", schema)]
    while pending:
        place, part = pending.pop()
        if not isinstance(part, dict | bool):
            return f"its schema is malformed: {place} is no schema"
        if not isinstance(part, dict):
            continue
        if wrong := next(_malformed(part), ""):
            return f"its schema is malformed: {place}{wrong}"
        pending += _parts(place, part)
    return ""


def _malformed(part: Schema) -> Iterator[str]:
    """The keywords whose values are not of the type that JSON Schema gives them."""
    kinds = part.get("type", [])
    if len(kinds_of(part)) != (len(kinds) if isinstance(kinds, list) else 1):
        yield "/type names no type"
    required = part.get("required", [])  # older drafts have true or false here: such a word is passed over
    if not isinstance(required, bool) and required != required_of(part):
        yield "/required is no list of names"
    if not isinstance(part.get("enum", []), list):
        yield "/enum is no list"
    if not isinstance(reference := part.get("$ref", "#"), str) or not reference.startswith("#"):
        yield "/$ref is not inside this schema"
    for keyword in _LISTS:
        if not isinstance(part.get(keyword, []), list):
            yield f"/{keyword} is no list"
    for keyword in _BY_NAME:
        if not isinstance(part.get(keyword, {}), dict):
            yield f"/{keyword} is no object"


def _parts(place: str, part: Schema) -> Iterator[tuple[str, JsonValue]]:
    """The schemas directly inside this one, each with where it is."""
    for keyword in _ONE:
        if keyword in part:
            yield f"{place}/{keyword}", part[keyword]
    for keyword in (*_LISTS, "items"):
        inside = part.get(keyword)
        if isinstance(inside, list):
            yield from ((f"{place}/{keyword}/{number}", each) for number, each in enumerate(inside))
        elif inside is not None:
            yield f"{place}/{keyword}", inside
    for keyword in _BY_NAME:
        inside = part.get(keyword, {})
        yield from ((f"{place}/{keyword}/{name[:60]}", each) for name, each in cast("Schema", inside).items())


# --- keywords, whatever stands there


def properties(schema: Schema) -> dict[str, Schema]:
    """The named parts; one that is no object, such as `true`, takes anything."""
    named = schema.get("properties")
    return {name: as_schema(part) for name, part in named.items()} if isinstance(named, dict) else {}


def required_of(schema: Schema) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def kinds_of(schema: Schema) -> tuple[str, ...]:
    """The types that the schema names; none where it takes any."""
    named = schema.get("type")
    kinds = named if isinstance(named, list) else [named]
    return tuple(kind for kind in kinds if isinstance(kind, str) and kind in KINDS)


def alternatives(schema: Schema) -> list[Schema]:
    """The branches of `anyOf`, else of `oneOf`; a branch that is no object takes anything."""
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and branches:
            return [as_schema(branch) for branch in branches]
    return []


def as_schema(part: JsonValue) -> Schema:
    return part if isinstance(part, dict) else {}
