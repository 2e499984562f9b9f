"""The schema of one value inside a tool's arguments, with what it refers to put in. Pure."""

from collections.abc import Mapping

from pydantic import JsonValue

from shared.repair.schema import KINDS, alternatives, as_schema, kinds_of, properties

type Schema = Mapping[str, JsonValue]
DEEPEST = 12  # references within references; a schema that refers to itself takes anything further down


def schema_at(schema: Schema, path: tuple[str | int, ...]) -> dict[str, JsonValue]:
    """That of the value at this place; {} where the tool does not say."""
    root, at = schema, _followed(schema, schema)
    for part in path:
        inside = as_schema(at.get("items")) if isinstance(part, int) else properties(at).get(part, {})
        at = _followed(inside, root)
    found = _inlined(dict(at), root, DEEPEST)
    return found if isinstance(found, dict) and _is_usable(found) else {}


def _is_usable(schema: Schema) -> bool:
    """A text for a type that names none would be refused wherever it is used."""
    kind = schema.get("type")
    return kind is None or kind in KINDS or bool(kinds_of(schema))


def _followed(schema: Schema, root: Schema) -> Schema:
    """What it refers to; and of a value that may be null, the other kind: a parameter without a value says null."""
    for _ in range(DEEPEST):
        name = schema.get("$ref")
        if isinstance(name, str):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**_target(name, root), **rest}
            continue
        branches = [one for one in alternatives(schema) if kinds_of(one) != ("null",)]
        if len(branches) != 1:
            break
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        schema = {**branches[0], **rest}
    return schema


def _target(name: str, root: Schema) -> Schema:
    at: JsonValue = dict(root)
    for part in name.removeprefix("#").strip("/").split("/"):
        at = at.get(part) if isinstance(at, dict) else None
    return as_schema(at)


def _inlined(value: JsonValue, root: Schema, deepest: int) -> JsonValue:
    if deepest == 0:
        return {}
    match value:
        case dict():
            followed = dict(_followed(value, root)) if "$ref" in value else value
            return {name: _inlined(item, root, deepest - 1) for name, item in followed.items() if name != "$defs"}
        case list():
            return [_inlined(item, root, deepest - 1) for item in value]
        case _:
            return value
