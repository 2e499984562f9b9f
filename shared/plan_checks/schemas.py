"""Navigates the JSON schemas that tools declare, without evaluating them. Pure."""

from pydantic import JsonValue

from shared.repair.schema import Schema, as_schema, properties, types_of
from shared.repair.schema import forms as all_forms

MAX_PARTS, MAX_LEVELS = 200, 5  # parts and levels of an outline


def forms(schema: Schema, root: Schema) -> tuple[Schema, ...]:
    """The schemas that a value may match. Null is left out unless it is the only one."""
    return without_null(all_forms(schema, root))


def without_null(every: tuple[Schema, ...]) -> tuple[Schema, ...]:
    """The schemas without the one of null, unless it is the only one."""
    return tuple(form for form in every if types_of(form) != ("null",)) or every


def outline(schema: Schema, root: Schema) -> JsonValue:
    """A short outline of a value for a prompt: fields by name, lists by their items, everything else by type."""
    room = MAX_PARTS

    def shape(part: JsonValue, deepest: int) -> JsonValue:
        nonlocal room
        room -= 1
        form = forms(as_schema(part), root)[0]
        kinds = "/".join(types_of(form)) or "any"
        if deepest == 0 or room <= 0:
            return kinds
        if named := properties(form):
            return {name: shape(dict(inside), deepest - 1) for name, inside in named.items()}
        if kinds == "object" and isinstance(more := form.get("additionalProperties"), dict):
            return {"*": shape(more, deepest - 1)}
        return [shape(items, deepest - 1)] if isinstance(items := form.get("items"), dict) else kinds

    return shape(dict(schema), MAX_LEVELS)
