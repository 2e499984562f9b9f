"""Finds in a schema the parts that describe a value, with references and alternatives resolved, in bounded time."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.repair.schema import (
    MAX_FORMS,
    TYPE_WORDS,
    Schema,
    alternatives,
    as_schema,
    forms,
    properties,
    resolve,
    types_of,
)

_ELSEWHERE = frozenset({"if", "dependentSchemas", "dependencies"})  # keywords under which fields may be declared
MAX_OUTLINED, OUTLINE_LEVELS = 200, 5  # parts and levels of an outline
MAX_INLINED = 12  # levels of a schema without references; below them, one that refers to itself accepts anything
MAX_STEPS = 10_000  # schemas and comparisons per call; what comes after them stays as it was sent


@dataclass
class SchemaReader:
    """The schema `root` of a call, whose parts refer to it. `steps` are left for the whole call."""

    root: Schema
    steps: int = MAX_STEPS
    _resolved: dict[int, tuple[Schema, tuple[Schema, ...]]] = field(default_factory=dict)  # by the schema's identity

    def spend(self, steps: int) -> bool:
        """Use up steps. False if not enough were left."""
        self.steps -= steps
        return self.steps >= 0

    def forms(self, schema: Schema) -> tuple[Schema, ...]:
        """The schemas of which a value matches one. After too many steps any value matches."""
        if not schema or not self.spend(1):
            return ({},)
        if id(schema) not in self._resolved:
            self._resolved[id(schema)] = (schema, forms(schema, self.root))  # the schema is kept, and so is its id
        matching = self._resolved[id(schema)][1]
        self.spend(len(matching) if any(matching) else MAX_FORMS)
        return matching

    def allows_null(self, schema: Schema) -> bool:
        return any(takes_null(form) for form in self.forms(schema))


def accepts_others(schema: Schema) -> bool:
    """Whether an object may have fields that `properties` does not name.

    A schema that does not say so forbids them, unless it names no properties or may declare fields elsewhere.
    """
    is_closed = (
        schema.get("additionalProperties", not _ELSEWHERE.isdisjoint(schema)) is False
        and "patternProperties" not in schema
    )
    return not properties(schema) or not is_closed


def item_of(schema: Schema, index: int) -> Schema:
    """The schema of a list's item."""
    first = schema.get("prefixItems")
    return as_schema(first[index] if isinstance(first, list) and index < len(first) else schema.get("items"))


def field_of(schema: Schema, name: str) -> Schema:
    """The schema of an object's field; {} if anything may be there. No pattern is evaluated."""
    known = properties(schema)
    if name in known or "patternProperties" in schema:
        return known.get(name, {})
    return as_schema(schema.get("additionalProperties"))


def takes_null(form: Schema) -> bool:
    kinds, allowed = types_of(form), form.get("enum")
    return (not kinds or "null" in kinds) and (not isinstance(allowed, list) or None in allowed)


def without_null(every: tuple[Schema, ...]) -> tuple[Schema, ...]:
    """The schemas without the one of null, unless it is the only one."""
    return tuple(form for form in every if types_of(form) != ("null",)) or every


def forms_but_null(schema: Schema, root: Schema) -> tuple[Schema, ...]:
    """The schemas that a value may match. Null is left out unless it is the only one."""
    return without_null(forms(schema, root))


def outline(schema: Schema, root: Schema) -> JsonValue:
    """A short outline of a value for a prompt: fields by name, lists by their items, everything else by type."""
    room = MAX_OUTLINED

    def shape(part: JsonValue, deepest: int) -> JsonValue:
        nonlocal room
        room -= 1
        form = forms_but_null(as_schema(part), root)[0]
        kinds = "/".join(types_of(form)) or "any"
        if deepest == 0 or room <= 0:
            return kinds
        if named := properties(form):
            return {name: shape(dict(inside), deepest - 1) for name, inside in named.items()}
        if kinds == "object" and isinstance(more := form.get("additionalProperties"), dict):
            return {"*": shape(more, deepest - 1)}
        return [shape(items, deepest - 1)] if isinstance(items := form.get("items"), dict) else kinds

    return shape(dict(schema), OUTLINE_LEVELS)


def schema_at(schema: Schema, path: tuple[str | int, ...]) -> dict[str, JsonValue]:
    """The schema of the value at this path, without references; {} if the tool does not declare one."""
    root, current = schema, _resolve_references(schema, schema)
    for part in path:
        inside = as_schema(current.get("items")) if isinstance(part, int) else properties(current).get(part, {})
        current = _resolve_references(inside, root)
    inlined = as_schema(_inline(dict(current), root, MAX_INLINED))
    return dict(inlined) if _is_usable(inlined) else {}


def _is_usable(schema: Schema) -> bool:
    """Whether the schema can be stored: a `type` must be a known one."""
    kind = schema.get("type")
    return kind is None or kind in TYPE_WORDS or bool(types_of(schema))


def _resolve_references(schema: Schema, root: Schema) -> Schema:
    """The schema that it refers to. Of a value that may be null, the other type:

    a missing parameter stands for null.
    """
    for _ in range(MAX_INLINED):
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
