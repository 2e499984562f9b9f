"""Kinds of arguments (text, URL, SQL, code), and where references may stand in them. Pure.

SQL and code run exactly as written: no result may become part of them, because it would be executed. A URL leads to the
host that the plan shows: a result may only fill parts of its path and query, percent-encoded. A tool declares the kinds
of its arguments with `x-kind` in its schema. Otherwise the argument's name decides.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

from pydantic import JsonValue

from shared.domain.references import Outputs, Unresolved, references, resolve, resolve_text
from shared.plan_checks.schemas import Schema, forms
from shared.repair.schema import as_schema, properties

Kind = Literal["text", "url", "sql", "code"]  # from the least to the most strict
KINDS: tuple[Kind, ...] = get_args(Kind)
DECLARED = "x-kind"
PYTHON = "text/x-python"  # JSON Schema's contentMediaType of a program
EXECUTED: frozenset[Kind] = frozenset({"sql", "code"})  # run as written
_NAMES: dict[str, Kind] = {"sql": "sql", "code": "code", "url": "url"}


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
    """An untrusted schema without `x-kind` declarations that are not stricter than the argument's name."""
    match schema:
        case dict():
            copy = {name: without_weaker_kinds(part) for name, part in schema.items()}
            named = copy.get("properties")
            for name, part in named.items() if isinstance(named, dict) else ():
                if isinstance(part, dict) and DECLARED in part and _is_weaker(name, part):
                    del part[DECLARED]
            return copy
        case list():
            return [without_weaker_kinds(part) for part in schema]
        case _:
            return schema


def reference_problems(arguments: Mapping[str, JsonValue], schema: Schema) -> tuple[str, ...]:
    """The problems with the places of a call's references, a sentence each."""
    problems: list[str] = []

    def check(placed: PlacedText) -> JsonValue:
        if references(placed.text) and (wrong := _placement_problem(placed)) and wrong not in problems:
            problems.append(wrong)
        return placed.text

    _map_texts(arguments, schema, check)
    return tuple(problems)


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
    if schema.get("contentMediaType") == PYTHON:
        return "code"
    if schema.get("format") == "uri" or name.endswith("_url"):
        return "url"
    return _NAMES.get(name, "text")


def _map_texts(
    arguments: Mapping[str, JsonValue], schema: Schema, change: Callable[[PlacedText], JsonValue]
) -> dict[str, JsonValue]:
    """The arguments with each text replaced by the result of `change`."""

    def part(place: str, value: JsonValue, at: Schema, kind: Kind) -> JsonValue:
        """`kind` applies to all texts within the value, unless a field has a stricter kind."""
        match value:
            case str():
                return change(PlacedText(place, kind, value))
            case list():
                inside = _items(at, schema)
                return [part(f"{place}[{number}]", item, inside, kind) for number, item in enumerate(value)]
            case dict():
                fields = {name: field for form in forms(at, schema) for name, field in properties(form).items()}
                own = {name: argument_kind_of(name, field) for name, field in fields.items()}
                return {
                    name: part(
                        f"{place}.{name}",
                        item,
                        fields.get(name, {}),
                        max(kind, own.get(name, kind), key=KINDS.index),
                    )
                    for name, item in value.items()
                }
            case _:
                return value

    return {
        name: part(name, value, properties(schema).get(name, {}), argument_kind(name, schema))
        for name, value in arguments.items()
    }


def _items(schema: Schema, root: Schema) -> Schema:
    return next((as_schema(form["items"]) for form in forms(schema, root) if "items" in form), {})


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
    fill_arguments: list[str] = []
    for part in _segments(url[start:]):
        done = resolve_text(part, outputs, lambda value: quote(value, safe="", errors="replace"))
        if "{{" in part and unquote(done) in (".", ".."):
            raise Unresolved(f"{part} stands for “{done}”, which would lead to another path of the URL.")
        fill_arguments.append(done)
    return url[:start] + "".join(fill_arguments)


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
