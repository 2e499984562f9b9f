"""Reads the schema of a call's arguments, with its references and alternatives, within a bounded number of steps."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from shared.repair.schema import MAX_FORMS, Schema, as_schema, forms, properties, required_names, types_of

_ELSEWHERE = frozenset({"if", "dependentSchemas", "dependencies"})  # keywords under which fields may be declared
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


def without_nulls(value: JsonValue, schema: Schema) -> JsonValue:
    """The value without nulls for fields that may be left out and must not be null.

    The strict form of a schema makes a model fill in every field, with null for what it leaves out.
    """
    return _without_nulls(value, schema, SchemaReader(schema))


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


def _without_nulls(value: JsonValue, schema: Schema, reader: SchemaReader) -> JsonValue:
    if not isinstance(value, list | dict):
        return value
    matching = reader.forms(schema)
    if isinstance(value, list):
        form = next((form for form in matching if "items" in form or "prefixItems" in form), {})
        return [_without_nulls(item, item_of(form, at), reader) for at, item in enumerate(value)]
    form = next((form for form in matching if _describes(form, value)), matching[0])
    required, known = required_names(form), properties(form)
    return {
        name: _without_nulls(inner, field_of(form, name), reader)
        for name, inner in value.items()
        if inner is not None or name in required or reader.allows_null(known.get(name, {}))
    }


def _describes(form: Schema, value: dict[str, JsonValue]) -> bool:
    """Whether the form names every field of the object, and the object has the form's constants."""
    known = properties(form)
    return known.keys() >= value.keys() and all(known[name].get("const", each) == each for name, each in value.items())


def takes_null(form: Schema) -> bool:
    kinds, allowed = types_of(form), form.get("enum")
    return (not kinds or "null" in kinds) and (not isinstance(allowed, list) or None in allowed)
