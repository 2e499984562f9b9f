"""References to a template's parameters: `{{params.order_id}}`. Pure.

Alone in a value, a reference becomes the parameter's value with its type; inside text it must be a scalar. What is
filled in is never read for references: a value that has `{{` in it is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from pydantic import JsonValue

from parley.protocol.templates import PARAMETER
from shared.domain.errors import Invalid
from shared.plan_checks.kinds import in_scheme_or_host, kind_of

REFERENCE = re.compile(rf"\{{\{{\s*params\.({PARAMETER.removeprefix('^').removesuffix('$')})\s*\}}\}}")

Values = Mapping[str, JsonValue]


def reference(name: str) -> str:
    return "{{params." + name + "}}"


def parameters_in(value: JsonValue) -> tuple[str, ...]:
    """The names that the value's texts refer to, in order; names of fields are no texts."""
    return tuple(name for text in texts(value) for name in REFERENCE.findall(text))


def texts(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts(item)
        case dict():
            for item in value.values():
                yield from texts(item)


def names(value: JsonValue) -> Iterator[str]:
    """The names of fields, at any depth."""
    match value:
        case list():
            for item in value:
                yield from names(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from names(item)


def filled_in(value: JsonValue, values: Values, *, url: bool = False) -> JsonValue:
    """The value with its parameters' values; inside the path of a `url` these are percent-encoded.

    A field or an item that is a parameter without a value is left out. Raises Invalid.
    """
    match value:
        case str():
            return _in_text(value, values, url=url)
        case list():
            return [filled_in(item, values, url=url) for item in value if not _unset(item, values)]
        case dict():
            kept = {name: item for name, item in value.items() if not _unset(item, values)}
            return {name: filled_in(item, values, url=is_url(name)) for name, item in kept.items()}
        case _:
            return value


def words_with(text: str, values: Values) -> str:
    """A text for people with the values in it; what is no scalar stays a name."""

    def told(match: re.Match[str]) -> str:
        found = values.get(match[1])
        return match[1] if found is None or isinstance(found, (list, dict)) else spelled(found, match[1])

    return REFERENCE.sub(told, text)


def _unset(value: JsonValue, values: Values) -> bool:
    whole = REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return whole is not None and whole[1] not in values


def is_url(argument: str) -> bool:
    return kind_of(argument, {}) == "url"


def in_host(text: str) -> bool:
    """Whether a parameter is a part of the URL's scheme or host."""
    return not REFERENCE.fullmatch(text.strip()) and REFERENCE.search(text) is not None and in_scheme_or_host(text)


def spelled(value: JsonValue, name: str) -> str:
    """As it is written inside text. Raises Invalid."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            raise Invalid(f"{name} stands inside a text, so it must be a text or a number.")


def refuse_references(values: Values) -> None:
    """Raises Invalid for a value that would be read for references later."""
    for name, value in values.items():
        if any("{{" in text for text in (*texts(value), *names(value))):
            raise Invalid(f"{name} has “{{{{” in it: a value is taken as it is, so no reference may stand in it.")


def without(names_: Sequence[str], schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The schema of an object that need not have these fields."""
    required = schema.get("required")
    left = [name for name in required if name not in names_] if isinstance(required, list) else []
    return {**schema, "required": left}


def _in_text(text: str, values: Values, *, url: bool) -> JsonValue:
    if whole := REFERENCE.fullmatch(text.strip()):
        return values[whole[1]]
    if url and in_host(text):
        raise Invalid(f"“{text[:100]}”: a parameter may not be a part of a URL's scheme or host.")

    def scalar(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise Invalid(f"{match[1]} has no value, and “{text[:100]}” needs one.")
        found = spelled(values[match[1]], match[1])
        return quote(found, safe="") if url else found

    return REFERENCE.sub(scalar, text)
