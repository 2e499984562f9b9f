"""JSON schemas inside the subset that OpenAI's strict mode documents and llama.cpp's grammar converter takes.

Every object is closed and names all its properties as required, every node has a type, and there is no keyword beyond
those that shape the text: bounds of lengths and numbers, patterns and formats are for whoever validates the reply.
References are replaced by what they refer to.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

type Schema = Mapping[str, Any]

LEVELS = 10  # objects and lists inside each other
LONGEST_LIST = 1_000  # items; a grammar cannot repeat a rule much more often
SIMPLE = frozenset({"string", "number", "integer", "boolean", "null"})
NULL: dict[str, Any] = {"type": "null"}
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "x-kind"}
)  # the last is Parley's own: what an argument of a tool is, besides data
NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Outside(ValueError):
    """The schema cannot be said in the subset; the text says why."""


class Size(NamedTuple):
    """What a schema counts towards the limits."""

    properties: int = 0
    enum_values: int = 0
    characters: int = 0

    def __add__(self, other: object) -> "Size":
        if not isinstance(other, Size):
            return NotImplemented
        return Size(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def within(self, limit: "Size") -> bool:
        return all(mine <= most for mine, most in zip(self, limit, strict=True))


LIMIT = Size(5_000, 1_000, 120_000)  # of one schema


def strict(schema: Schema, *, nullable: bool = False, described: bool = True, levels: int = LEVELS) -> dict[str, Any]:
    """The schema in the subset. Raises Outside where that would lose more than bounds of single values.

    With `nullable` a property that is not required may be null; else it must be given like the others. Not
    `described`: without the words on what each part is for.
    """
    return _Strict(schema, nullable, described).node(schema, levels, ())


def size(schema: Schema) -> Size:
    """What this strict schema counts."""
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    parts += [schema["items"]] if "items" in schema else []
    values = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    names = list(schema.get("properties", {}))
    own = Size(len(names), len(values), sum(len(str(one)) for one in (*names, *values)))
    return sum(map(size, parts), own)


class _Strict:
    def __init__(self, root: Schema, nullable: bool, described: bool) -> None:
        self._definitions = {
            f"#/{place}/{name}": part
            for place in ("$defs", "definitions")
            for name, part in root.get(place, {}).items()
        }
        self._nullable, self._described = nullable, described

    def node(self, schema: object, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """`inside`: the references that led here."""
        if not isinstance(schema, Mapping):
            raise Outside("a part takes any value")
        if "$ref" in schema:
            return self._with_words(schema, self._referred(str(schema["$ref"]), levels, inside))
        if branches := schema.get("anyOf") or schema.get("oneOf"):
            if schema.keys() - ANNOTATIONS - {"anyOf", "oneOf", "discriminator", "$defs", "definitions"}:
                raise Outside("alternatives stand beside other keywords")
            return self._with_words(schema, _any_of([self.node(branch, levels, inside) for branch in branches]))
        if len(schema.get("allOf", ())) == 1 and not schema.keys() - ANNOTATIONS - {"allOf"}:
            return self._with_words(schema, self.node(schema["allOf"][0], levels, inside))
        if strange := schema.keys() & {"allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas"}:
            raise Outside(f"it uses {', '.join(sorted(strange))}")
        if "const" in schema or "enum" in schema:
            return self._with_words(schema, _one_of([schema["const"]] if "const" in schema else schema["enum"], schema))
        kinds = schema.get("type")
        if isinstance(kinds, list) and kinds:
            return self._with_words(schema, self._united(schema, kinds, levels, inside))
        return self._with_words(schema, self._typed(schema, kinds, levels, inside))

    def _with_words(self, schema: Schema, strict_schema: dict[str, Any]) -> dict[str, Any]:
        words = schema.get("description") if self._described else None
        return strict_schema | ({"description": words} if isinstance(words, str) and words else {})

    def _referred(self, reference: str, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if reference in inside:
            raise Outside("it refers to itself")
        if reference not in self._definitions:
            raise Outside(f"it refers to {reference[:100]}")
        return self.node(self._definitions[reference], levels, (*inside, reference))

    def _united(self, schema: Schema, kinds: list[str], levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if SIMPLE.issuperset(kinds):
            return {"type": list(kinds)}
        return _any_of([self._typed(schema, kind, levels, inside) for kind in kinds])

    def _typed(self, schema: Schema, kind: object, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if kind in SIMPLE:
            return {"type": kind}
        if kind not in ("array", "object"):
            raise Outside("a part has no type")
        if levels == 0:
            raise Outside(f"it is nested more than {LEVELS} levels deep")
        if kind == "array":
            bounds = {
                name: schema[name] for name in ("minItems", "maxItems") if schema.get(name, LONGEST_LIST) < LONGEST_LIST
            }
            return {"type": "array", "items": self.node(schema.get("items"), levels - 1, inside), **bounds}
        return self._object(schema, levels, inside)

    def _object(self, schema: Schema, levels: int, inside: tuple[str, ...]) -> dict[str, Any]:
        if schema.get("additionalProperties") or ("properties" not in schema and "additionalProperties" not in schema):
            raise Outside("an object takes any property")
        required = schema.get("required", ())
        properties: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            properties[name] = self.node(part, levels - 1, inside)
            if self._nullable and name not in required:
                properties[name] = _or_null(properties[name])
        closed = {"required": list(properties), "additionalProperties": False}
        return {"type": "object", "properties": properties, **closed}


def _any_of(branches: list[dict[str, Any]]) -> dict[str, Any]:
    """The branches side by side; those that are alternatives themselves are taken apart."""
    flat = [inner for branch in branches for inner in (branch["anyOf"] if set(branch) == {"anyOf"} else [branch])]
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _one_of(values: list[Any], schema: Schema) -> dict[str, Any]:
    kinds = list(dict.fromkeys(NAMES.get(type(value), "") for value in values))
    if "" in kinds or not values:
        raise Outside("an enumeration has values that are no texts or numbers")
    kind = kinds[0] if len(kinds) == 1 else kinds
    return {"type": kind, "const": values[0]} if "const" in schema else {"type": kind, "enum": list(values)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "null" in kinds or NULL in schema.get("anyOf", ()):
        return schema
    if not SIMPLE.issuperset(kinds) or "const" in schema:
        return _any_of([schema, NULL])
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [*kinds, "null"]} | values
