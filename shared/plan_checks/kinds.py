"""Which arguments are more than data, and what a reference may do there. Pure.

SQL and program code run as they are written: a result that became a part of them would be run, too. A URL leads to the
host that the plan shows: a result fills in parts of its path and query, percent-encoded, and nothing else. A tool says
with `x-kind` in its schema which of its arguments these are. Where it says nothing, the argument's name decides.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

from pydantic import JsonValue

from shared.domain.references import Outputs, Unresolved, in_text, references, resolved
from shared.plan_checks.schemas import Schema, forms
from shared.repair.schema import as_schema, properties

Kind = Literal["text", "url", "sql", "code"]  # from the freest to the strictest
KINDS: tuple[Kind, ...] = get_args(Kind)
DECLARED = "x-kind"
PYTHON = "text/x-python"  # JSON Schema's contentMediaType of a program
RUN: frozenset[Kind] = frozenset({"sql", "code"})  # as they are written
_NAMES: dict[str, Kind] = {"sql": "sql", "code": "code", "url": "url"}


class Placed(NamedTuple):
    """A text of a call's arguments: where it stands, and of which kind it is."""

    place: str
    kind: Kind
    text: str


def kind_of(name: str, schema: Schema) -> Kind:
    """The kind of the argument with this name and schema."""
    declared = schema.get(DECLARED)
    return declared if declared in KINDS else _by_form(name, schema)


def argument_kind(name: str, parameters: Schema) -> Kind:
    """That of a tool's argument, by the schema of all its arguments."""
    return kind_of(name, properties(parameters).get(name, {}))


def without_weaker(schema: JsonValue) -> JsonValue:
    """A stranger's schema: what it declares of an argument counts only where that is stricter than its name is."""
    match schema:
        case dict():
            kept = {name: without_weaker(part) for name, part in schema.items()}
            named = kept.get("properties")
            for name, part in named.items() if isinstance(named, dict) else ():
                if isinstance(part, dict) and DECLARED in part and _weaker(name, part):
                    del part[DECLARED]
            return kept
        case list():
            return [without_weaker(part) for part in schema]
        case _:
            return schema


def misplaced(arguments: Mapping[str, JsonValue], schema: Schema) -> tuple[str, ...]:
    """What is wrong with where the references of a call stand, each in a sentence."""
    found: list[str] = []

    def look(one: Placed) -> JsonValue:
        if references(one.text) and (wrong := _misplaced(one)) and wrong not in found:
            found.append(wrong)
        return one.text

    _mapped(arguments, schema, look)
    return tuple(found)


def filled(arguments: Mapping[str, JsonValue], schema: Schema, outputs: Outputs) -> dict[str, JsonValue]:
    """The arguments with what their references stand for. Raises Unresolved, also for one that may not stand there."""

    def fill(one: Placed) -> JsonValue:
        if references(one.text) and (wrong := _misplaced(one)):
            raise Unresolved(wrong)
        return _filled_url(one.text, outputs) if one.kind == "url" else resolved(one.text, outputs)

    return _mapped(arguments, schema, fill)


def in_scheme_or_host(url: str) -> bool:
    """Whether a reference is a part of the URL's scheme, user, host or port."""
    scheme, found, rest = url.strip().partition("://")
    if not found:
        return "{{" in url
    ends = min((at for mark in "/?#" if (at := rest.find(mark)) >= 0), default=len(rest))
    return "{{" in scheme or "{{" in rest[:ends]


def _weaker(name: str, part: Schema) -> bool:
    return KINDS.index(kind_of(name, part)) <= KINDS.index(_by_form(name, part))


def _by_form(name: str, schema: Schema) -> Kind:
    if schema.get("contentMediaType") == PYTHON:
        return "code"
    if schema.get("format") == "uri" or name.endswith("_url"):
        return "url"
    return _NAMES.get(name, "text")


def _mapped(
    arguments: Mapping[str, JsonValue], schema: Schema, change: Callable[[Placed], JsonValue]
) -> dict[str, JsonValue]:
    """The arguments with each of their texts as `change` returns it."""

    def part(place: str, value: JsonValue, at: Schema, kind: Kind) -> JsonValue:
        """`kind` holds for all texts within the value, unless a field of it is of a stricter one."""
        match value:
            case str():
                return change(Placed(place, kind, value))
            case list():
                inside = _items(at, schema)
                return [part(f"{place}[{number}]", item, inside, kind) for number, item in enumerate(value)]
            case dict():
                fields = {name: field for form in forms(at, schema) for name, field in properties(form).items()}
                own = {name: kind_of(name, field) for name, field in fields.items()}
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


def _misplaced(one: Placed) -> str:
    match one.kind:
        case "sql" | "code":
            return f"{one.place} is run as it is written: no reference may stand in it."
        case "url" if in_scheme_or_host(one.text):
            return f"{one.place}: a reference may stand in the path or query of a URL, not in its scheme or host."
        case _:
            return ""


def _filled_url(url: str, outputs: Outputs) -> str:
    """A segment of the path stays one segment, and none becomes "." or "..", which would lead to another path."""
    if not references(url):
        return url
    start = url.index("://") + 3
    filled: list[str] = []
    for part in _segments(url[start:]):
        done = in_text(part, outputs, lambda value: quote(value, safe="", errors="replace"))
        if "{{" in part and unquote(done) in (".", ".."):
            raise Unresolved(f"{part} stands for “{done}”, which would lead to another path of the URL.")
        filled.append(done)
    return url[:start] + "".join(filled)


def _segments(rest: str) -> Iterator[str]:
    """What follows the scheme, in parts: what a slash or a mark ends, and these themselves."""
    part = ""
    for character in rest:
        if character in "/?#\\":
            yield part
            yield character
            part = ""
        else:
            part += character
    yield part
