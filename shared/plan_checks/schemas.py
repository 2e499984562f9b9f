"""A JSON schema that a tool declares, followed into its parts. Nothing here evaluates one. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from shared.repair.schema import alternatives, as_schema, kinds_of, properties

type Schema = Mapping[str, JsonValue]
DEEPEST = 12  # references and alternatives within each other; what is nested deeper may be anything
MOST = 100  # forms of one value
SHOWN, LEVELS = 200, 5  # parts of an outline, and levels of them


def forms(schema: Schema, root: Schema) -> tuple[Schema, ...]:
    """The forms that a value may have, with `$ref` followed and alternatives apart; {} is a value of any form.

    Null is no form of its own unless it is the only one.
    """
    found: list[Schema] = []
    for form in _forms(schema, root, DEEPEST):
        found.append(form)
        if len(found) > MOST:
            return ({},)
    return tuple(one for one in found if kinds_of(one) != ("null",)) or tuple(found)


def outline(schema: Schema, root: Schema) -> JsonValue:
    """The shape of a value in few words, for a prompt: fields by name, lists by their items, all else by its type."""
    room = SHOWN

    def shape(part: JsonValue, deepest: int) -> JsonValue:
        nonlocal room
        room -= 1
        form = forms(as_schema(part), root)[0]
        kinds = "/".join(kinds_of(form)) or "any"
        if deepest == 0 or room <= 0:
            return kinds
        if named := properties(form):
            return {name: shape(dict(inside), deepest - 1) for name, inside in named.items()}
        if kinds == "object" and isinstance(more := form.get("additionalProperties"), dict):
            return {"*": shape(more, deepest - 1)}
        return [shape(items, deepest - 1)] if isinstance(items := form.get("items"), dict) else kinds

    return shape(dict(schema), LEVELS)


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
