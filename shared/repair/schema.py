"""Reads untrusted JSON schemas: finds what is wrong with one, and reads its keywords without trusting their types.

This module does not evaluate schemas. The tool's server checks `pattern` and `format`: it validates its arguments
anyway, and a regular expression can take for ever.
"""

import math
from collections.abc import Iterator, Mapping
from typing import cast
from urllib.parse import unquote

from pydantic import JsonValue

MAX_VALUES, MAX_LEVELS = 100_000, 64  # of any value
type Schema = Mapping[str, JsonValue]
TYPE_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
MAX_NODES, MAX_DEPTH = 20_000, 32  # of a schema
MAX_PARTS = 32  # of one schema behind `$ref` and `allOf`
MAX_FORMS, MAX_NESTED = 100, 12  # alternatives of one value, and levels of them
_SCHEMA_KEYWORDS = ("additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_LIST_KEYWORDS = ("anyOf", "oneOf", "allOf", "prefixItems")
_LISTS = (*_LIST_KEYWORDS, "required", "enum")
_WITH_SUBSCHEMAS = (*_SCHEMA_KEYWORDS, *_LIST_KEYWORDS, "items")
_MAP_KEYWORDS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def is_bounded(value: JsonValue, *, nodes: int = MAX_VALUES, depth: int = MAX_LEVELS) -> bool:
    """Whether the value holds at most `nodes` values, itself included, nested at most `depth` deep."""
    level: list[JsonValue] = [value]
    counted = 0
    for _ in range(depth):
        counted += len(level)
        if counted > nodes:
            return False
        level = [child for each in level for child in _children(each)]
        if not level:
            return True
    return False


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def is_finite(value: JsonValue) -> bool:
    """Whether the value holds only numbers that JSON can express. Assumes that it is bounded."""
    level: list[JsonValue] = [value]
    while level:
        if any(isinstance(each, float) and not math.isfinite(each) for each in level):
            return False
        level = [child for each in level for child in _children(each)]
    return True


def without_blanks(part: JsonValue) -> JsonValue:
    """The schema without what servers write for an absent keyword: Go's null, PHP's [] for {}, a boolean `required`."""
    if isinstance(part, list) and part:
        return [without_blanks(each) for each in part]
    if not isinstance(part, dict):
        return {} if part in (None, []) else part
    tidy: dict[str, JsonValue] = {}
    for keyword, value in part.items():
        is_blank = isinstance(value, bool) or not value if keyword in _LISTS else value is None
        if is_blank and keyword not in ("default", "const"):
            continue
        if keyword in _MAP_KEYWORDS and isinstance(named := value or {}, dict):
            tidy[keyword] = {name: without_blanks(each) for name, each in named.items()}
        else:
            tidy[keyword] = without_blanks(value) if keyword in _WITH_SUBSCHEMAS else value
    return tidy


def schema_problem(schema: JsonValue) -> str:
    """Why this cannot be a tool's schema, as the end of a sentence; "" if it can."""
    if not is_bounded(schema, nodes=MAX_NODES, depth=MAX_DEPTH):
        return f"its schema has more than {MAX_NODES:,} values, or is nested more than {MAX_DEPTH} deep"
    if not isinstance(schema, dict) or "object" not in types_of(schema):
        return 'its schema is not of type "object"'
    pending: list[tuple[str, JsonValue]] = [("", schema)]
    while pending:
        place, part = pending.pop()
        if not isinstance(part, dict | bool):
            return f"its schema is malformed: {place} is not a schema"
        if not isinstance(part, dict):
            continue
        if wrong := next(_malformed(part), ""):
            return f"its schema is malformed: {place}{wrong}"
        pending += _subschemas(place, part)
    return ""


def _malformed(part: Schema) -> Iterator[str]:
    """The keywords whose values are not of the type that JSON Schema gives them."""
    kinds = part.get("type", [])
    if len(types_of(part)) != (len(kinds) if isinstance(kinds, list) else 1):
        yield "/type is not a known type"
    required = part.get("required", [])  # older drafts have true or false here, which is ignored
    if not isinstance(required, bool) and required != required_names(part):
        yield "/required must be a list of names"
    if not isinstance(reference := part.get("$ref", "#"), str) or not reference.startswith("#"):
        yield "/$ref does not lead to a part of this schema"
    lists = (keyword for keyword in ("enum", *_LIST_KEYWORDS) if not isinstance(part.get(keyword, []), list))
    yield from (f"/{keyword} must be a list" for keyword in lists)
    maps = (keyword for keyword in _MAP_KEYWORDS if not isinstance(part.get(keyword, {}), dict))
    yield from (f"/{keyword} must be an object" for keyword in maps)


def _subschemas(place: str, part: Schema) -> Iterator[tuple[str, JsonValue]]:
    """The direct subschemas, each with its place."""
    for keyword in _SCHEMA_KEYWORDS:
        if keyword in part:
            yield f"{place}/{keyword}", part[keyword]
    for keyword in (*_LIST_KEYWORDS, "items"):
        inside = part.get(keyword)
        if isinstance(inside, list):
            yield from ((f"{place}/{keyword}/{number}", part) for number, part in enumerate(inside))
        elif inside is not None:
            yield f"{place}/{keyword}", inside
    for keyword in _MAP_KEYWORDS:
        inside = part.get(keyword, {})
        yield from ((f"{place}/{keyword}/{name[:60]}", each) for name, each in cast("Schema", inside).items())


# --- keywords of any type


def properties(schema: Schema) -> dict[str, Schema]:
    """The properties. A schema that is not an object, such as `true`, accepts anything."""
    named = schema.get("properties")
    return {name: as_schema(part) for name, part in named.items()} if isinstance(named, dict) else {}


def required_names(schema: Schema) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def types_of(schema: Schema) -> tuple[str, ...]:
    """The types that the schema names; empty if it accepts any."""
    named = schema.get("type")
    kinds = named if isinstance(named, list) else [named]
    return tuple(kind for kind in kinds if isinstance(kind, str) and kind in TYPE_WORDS)


def alternatives(schema: Schema) -> list[Schema]:
    """The branches of `anyOf` or else `oneOf`, each with the keywords beside it. `true` accepts anything."""
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and branches:
            beside = {name: part for name, part in schema.items() if name != keyword}
            return [_both(beside, as_schema(branch)) for branch in branches]
    return []


def forms(schema: Schema, root: Schema) -> tuple[Schema, ...]:
    """The schemas of which a value matches one, with `$ref` resolved and alternatives separate; {} matches anything."""
    matching: list[Schema] = []
    for form in _forms(schema, root, MAX_NESTED):
        matching.append(form)
        if len(matching) > MAX_FORMS:
            return ({},)
    return tuple(matching)


def _forms(schema: Schema, root: Schema, deepest: int) -> Iterator[Schema]:
    resolved = resolve(schema, root) if deepest else {}
    branches = alternatives(resolved)
    for branch in branches:
        yield from _forms(branch, root, deepest - 1)
    if not branches:
        yield {**resolved, "enum": [resolved["const"]]} if "const" in resolved else resolved


def resolve(schema: Schema, root: Schema) -> Schema:
    """The schema with its `$ref` and `allOf` replaced by the keywords that they stand for, of the document `root`.

    The outer keyword counts where two differ. A reference that leads nowhere, or in a circle, adds nothing.
    """
    if "$ref" not in schema and "allOf" not in schema:
        return schema
    resolved: Schema = {}
    pending, followed = [schema], set[str]()
    for _ in range(MAX_PARTS):
        if not pending:
            break
        part = pending.pop(0)
        resolved = _both({name: value for name, value in part.items() if name not in ("$ref", "allOf")}, resolved)
        reference, every = part.get("$ref"), part.get("allOf")
        if isinstance(reference, str) and reference not in followed:
            followed.add(reference)
            pending.append(_target(reference, root))
        pending += [as_schema(each) for each in every] if isinstance(every, list) else []
    return resolved


def as_schema(part: JsonValue) -> Schema:
    return part if isinstance(part, dict) else {}


def _target(reference: str, root: Schema) -> Schema:
    """The part of the document at this JSON pointer; {} if there is none."""
    part: JsonValue = dict(root)
    for name in filter(None, unquote(reference.removeprefix("#")).split("/")):
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(part, list):
            part = dict(enumerate(part)).get(int(key)) if key.isdecimal() else None
        else:
            part = part.get(key) if isinstance(part, dict) else None
    return as_schema(part)


def _both(first: Schema, second: Schema) -> Schema:
    """One schema for values that match both. The second's keyword counts where they differ."""
    both: dict[str, JsonValue] = {**first, **second}
    for keyword, other in (("anyOf", "oneOf"), ("oneOf", "anyOf")):
        if keyword in first and keyword in second and other not in both:
            both[other] = first[keyword]
    if "required" in first and "required" in second:
        both["required"] = list(dict.fromkeys([*required_names(first), *required_names(second)]))
    outer, inner = first.get("properties"), second.get("properties")
    if isinstance(outer, dict) and isinstance(inner, dict):
        shared = {name: {"allOf": [inner[name], outer[name]]} for name in outer.keys() & inner.keys()}
        both["properties"] = {**outer, **inner, **cast("dict[str, JsonValue]", shared)}
    return both
