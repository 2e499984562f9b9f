"""Kinds of arguments (text, URL, SQL, code), and where references may stand in them. Pure.

SQL and code run exactly as written: no result may become part of them, because it would be executed. A URL leads to the
host that the plan shows: a result may only fill parts of its path and query, percent-encoded. A tool declares the kinds
of its arguments with `x-kind` in its schema. Otherwise the name decides, of an argument and of a field within it, but
not within an argument that the tool declares to be text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

from pydantic import JsonValue

from shared.domain.steps.references import Outputs, Unresolved, references, resolve, resolve_text
from shared.repair.reader import forms_but_null
from shared.repair.schema import Schema, as_schema, properties

type Schemas = tuple[Schema, ...]  # those that a value may match
Kind = Literal["text", "url", "sql", "code"]  # from the least to the most strict
KINDS: tuple[Kind, ...] = get_args(Kind)
DECLARED = "x-kind"
PYTHON = "text/x-python"  # JSON Schema's contentMediaType of a program
EXECUTED: frozenset[Kind] = frozenset({"sql", "code"})  # run as written
_WORD_ENDS = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class PlacedText(NamedTuple):
    """A text in a call's arguments, with its place and kind."""

    place: str
    kind: Kind
    text: str


def argument_kind_of(name: str, schema: Schema) -> Kind:
    """The kind of the argument with this name and schema."""
    declared = schema.get(DECLARED)
    return declared if declared in KINDS else _inferred_kind(name, schema)


def argument_kind(name: str, parameters: Schema) -> Kind:
    """The kind of a tool's argument, by the schema of all arguments."""
    return argument_kind_of(name, properties(parameters).get(name, {}))


def without_weaker_kinds(schema: JsonValue) -> JsonValue:
    """An untrusted schema without `x-kind` declarations that are not stricter than the argument's name.

    Where no name is known, behind `$ref` or for all fields, only the strictest kinds stay.
    """
    match schema:
        case dict():
            copy = {name: without_weaker_kinds(part) for name, part in schema.items()}
            if isinstance(kind := copy.get(DECLARED), str) and kind not in EXECUTED:
                del copy[DECLARED]
            for name, declared in properties(schema).items():
                part = as_schema(as_schema(copy["properties"]).get(name))
                if isinstance(part, dict) and DECLARED in declared:
                    part.pop(DECLARED, None)
                    part.update({} if _is_weaker(name, declared) else {DECLARED: declared[DECLARED]})
            return copy
        case list():
            return [without_weaker_kinds(part) for part in schema]
        case _:
            return schema


def reference_problems(arguments: Mapping[str, JsonValue], schema: Schema) -> tuple[str, ...]:
    """The problems with the places of a call's references, a sentence each."""
    problems = (_placement_problem(placed) for placed in placed_texts(arguments, schema) if references(placed.text))
    return tuple(dict.fromkeys(problem for problem in problems if problem))


def placed_texts(arguments: Mapping[str, JsonValue], schema: Schema) -> tuple[PlacedText, ...]:
    """All texts in a call's arguments."""
    texts: list[PlacedText] = []

    def note(placed: PlacedText) -> JsonValue:
        texts.append(placed)
        return placed.text

    _map_texts(arguments, schema, note)
    return tuple(texts)


def fill_arguments(arguments: Mapping[str, JsonValue], schema: Schema, outputs: Outputs) -> dict[str, JsonValue]:
    """The arguments with references replaced by values. Raises Unresolved, also for a misplaced reference."""

    def fill(placed: PlacedText) -> JsonValue:
        if references(placed.text) and (wrong := _placement_problem(placed)):
            raise Unresolved(wrong)
        return _fill_url(placed.text, outputs) if placed.kind == "url" else resolve(placed.text, outputs)

    return _map_texts(arguments, schema, fill)


def in_scheme_or_host(url: str) -> bool:
    """Whether the URL's scheme, user, host or port contains a reference."""
    scheme, separator, rest = url.strip().partition("://")
    if not separator:
        return "{{" in url
    end = min((at for mark in "/?#" if (at := rest.find(mark)) >= 0), default=len(rest))
    return "{{" in scheme or "{{" in rest[:end]


def _is_weaker(name: str, part: Schema) -> bool:
    return KINDS.index(argument_kind_of(name, part)) <= KINDS.index(_inferred_kind(name, part))


def _inferred_kind(name: str, schema: Schema) -> Kind:
    words = [word.lower() for word in _WORD_ENDS.split(name)]
    if "sql" in words:
        return "sql"
    if schema.get("contentMediaType") == PYTHON or words == ["code"]:  # a country_code is no program
        return "code"
    return "url" if schema.get("format") == "uri" or words[-1] == "url" else "text"


def _map_texts(
    arguments: Mapping[str, JsonValue], root: Schema, change: Callable[[PlacedText], JsonValue]
) -> dict[str, JsonValue]:
    """The arguments with each text replaced by the result of `change`."""

    def fields(place: str, values: Mapping[str, JsonValue], at: Schemas, kind: Kind, *, named: bool) -> dict[str, Any]:
        """`kind` applies to all texts within the values, unless a field has a stricter one. `named`: by its name."""
        filled: dict[str, Any] = {}
        for name, value in values.items():
            inside = _field(at, name, root)
            own = max((_kind(name if named else "", schema, root) for schema in inside), key=KINDS.index)
            by_name = named and not any(schema.get(DECLARED) == "text" for schema in inside)
            filled[name] = part(f"{place}{name}", value, inside, max(kind, own, key=KINDS.index), named=by_name)
        return filled

    def part(place: str, value: JsonValue, at: Schemas, kind: Kind, *, named: bool) -> JsonValue:
        match value:
            case str():
                return change(PlacedText(place, kind, value))
            case list():
                items = _items(at, root)
                return [part(f"{place}[{number}]", item, items, kind, named=named) for number, item in enumerate(value)]
            case dict():
                return fields(f"{place}.", value, at, kind, named=named)
            case _:
                return value

    return fields("", arguments, (root,), "text", named=True)


def _kind(name: str, schema: Schema, root: Schema) -> Kind:
    """The kind of an argument or field, which may be declared behind `$ref` or in one of several forms."""
    within = (schema,) if DECLARED in schema else forms_but_null(schema, root)
    return max((argument_kind_of(name, form) for form in within), key=KINDS.index)


def _field(schemas: Schemas, name: str, root: Schema) -> Schemas:
    """The schemas of the field; {} if none declares it."""
    objects = [form for schema in schemas for form in forms_but_null(schema, root)]
    declared = [properties(form).get(name) or as_schema(form.get("additionalProperties")) for form in objects]
    return tuple(declared) or ({},)


def _items(schemas: Schemas, root: Schema) -> Schemas:
    lists = [form for schema in schemas for form in forms_but_null(schema, root)]
    return tuple(as_schema(form.get("items")) for form in lists) or ({},)


def _placement_problem(placed: PlacedText) -> str:
    match placed.kind:
        case "sql" | "code":
            return f"{placed.place} is run as it is written: no reference may stand in it."
        case "url" if in_scheme_or_host(placed.text):
            return f"{placed.place}: a reference may stand in the path or query of a URL, not in its scheme or host."
        case _:
            return ""


def _fill_url(url: str, outputs: Outputs) -> str:
    """Fill a URL. A path segment stays one segment and does not become "." or "..", which would change the path."""
    if not references(url):
        return url
    start = url.index("://") + 3
    filled: list[str] = []
    for part in _segments(url[start:]):
        done = resolve_text(part, outputs, lambda value: quote(value, safe="", errors="replace"))
        if "{{" in part and unquote(done) in (".", ".."):
            raise Unresolved(f"{part} stands for “{done}”, which would lead to another path of the URL.")
        filled.append(done)
    return url[:start] + "".join(filled)


def _segments(rest: str) -> Iterator[str]:
    """The parts after the scheme, split at slashes and marks, which are parts themselves."""
    part = ""
    for character in rest:
        if character in "/?#\\":
            yield part
            yield character
            part = ""
        else:
            part += character
    yield part
