"""Navigates the JSON schemas that tools declare, without evaluating them. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from shared.repair.schema import alternatives, as_schema, properties, types_of

type Schema = Mapping[str, JsonValue]
MAX_DEPTH = 12  # levels of references and alternatives; deeper parts may be anything
MAX_FORMS = 100  # forms of one value
MAX_PARTS, MAX_LEVELS = 200, 5  # parts and levels of an outline


def forms(schema: Schema, root: Schema) -> tuple[Schema, ...]:
    """The schemas that a value may match, with `$ref` resolved and alternatives separate; {} matches any value.

    Null is left out unless it is the only one.
    """
    forms_found: list[Schema] = []
    for form in _forms(schema, root, MAX_DEPTH):
        forms_found.append(form)
        if len(forms_found) > MAX_FORMS:
            return ({},)
    return tuple(form for form in forms_found if types_of(form) != ("null",)) or tuple(forms_found)


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


def _forms(schema: Schema, root: Schema, deepest: int) -> Iterator[Schema]:
    if deepest == 0:
        yield {}
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _forms(_target(reference, root), root, deepest - 1)
    elif branches := alternatives(schema):
        for branch in branches:
            yield from _forms(branch, root, deepest - 1)
    elif isinstance(every := schema.get("allOf"), list):
        yield from _forms(as_schema(every[0]), root, deepest - 1) if len(every) == 1 else ({},)
    else:
        yield schema


def _target(reference: str, root: Schema) -> Schema:
    at: JsonValue = dict(root)
    for part in filter(None, reference.removeprefix("#").split("/")):
        at = at.get(part) if isinstance(at, dict) else None
    return as_schema(at)
