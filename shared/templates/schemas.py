"""The schema of one value inside a tool's arguments, with its references resolved. Pure."""

from pydantic import JsonValue

from shared.repair.schema import TYPE_WORDS, Schema, alternatives, as_schema, properties, resolve, types_of

MAX_DEPTH = 12  # levels; below it, a schema that refers to itself accepts anything


def schema_at(schema: Schema, path: tuple[str | int, ...]) -> dict[str, JsonValue]:
    """The schema of the value at this path; {} if the tool does not declare one."""
    root, current = schema, _resolve_references(schema, schema)
    for part in path:
        inside = as_schema(current.get("items")) if isinstance(part, int) else properties(current).get(part, {})
        current = _resolve_references(inside, root)
    schema_ = _inline(dict(current), root, MAX_DEPTH)
    return schema_ if isinstance(schema_, dict) and _is_usable(schema_) else {}


def _is_usable(schema: Schema) -> bool:
    """Whether the schema can be stored: a `type` must be a known one."""
    kind = schema.get("type")
    return kind is None or kind in TYPE_WORDS or bool(types_of(schema))


def _resolve_references(schema: Schema, root: Schema) -> Schema:
    """The schema that it refers to. Of a value that may be null, the other type:

    a missing parameter stands for null.
    """
    for _ in range(MAX_DEPTH):
        schema = resolve(schema, root)
        branches = [branch for branch in alternatives(schema) if types_of(branch) != ("null",)]
        if len(branches) != 1:
            break
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf")}
        schema = {**branches[0], **rest}
    return schema


def _inline(value: JsonValue, root: Schema, depth: int) -> JsonValue:
    if depth == 0:
        return {}
    match value:
        case dict():
            followed = dict(_resolve_references(value, root)) if "$ref" in value else value
            return {name: _inline(item, root, depth - 1) for name, item in followed.items() if name != "$defs"}
        case list():
            return [_inline(item, root, depth - 1) for item in value]
        case _:
            return value
