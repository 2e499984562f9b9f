"""References to a template's parameters: `{{params.order_id}}`. Pure.

A reference that is a whole value becomes the parameter's value with its type; inside text the value must be a scalar.
Values are never searched for references: a value that contains `{{` is refused.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from pydantic import JsonValue

from parley.protocol.templates import PARAMETER
from shared.domain.kernel.errors import Invalid
from shared.domain.steps.references import field_names, texts
from shared.plan_checks.argument_kinds import argument_kind_of, in_scheme_or_host

REFERENCE = re.compile(rf"\{{\{{\s*params\.({PARAMETER.removeprefix('^').removesuffix('$')})\s*\}}\}}")

Values = Mapping[str, JsonValue]


def reference(name: str) -> str:
    return "{{params." + name + "}}"


def parameters_in(value: JsonValue) -> tuple[str, ...]:
    """The parameter names that the value's strings refer to, in order, without field names."""
    return tuple(name for text in texts(value) for name in REFERENCE.findall(text))


def fill_in(value: JsonValue, values: Values, *, url: bool = False) -> JsonValue:
    """The value with its parameters filled in. Inside the path of a `url` they are percent-encoded.

    A field or an item that is a parameter without a value is left out. Raises Invalid.
    """
    match value:
        case str():
            return _in_text(value, values, url=url)
        case list():
            return [fill_in(item, values, url=url) for item in value if not _is_unset(item, values)]
        case dict():
            present = {name: item for name, item in value.items() if not _is_unset(item, values)}
            return {name: fill_in(item, values, url=is_url(name)) for name, item in present.items()}
        case _:
            return value


def fill_in_text(text: str, values: Values) -> str:
    """The text for people with the values filled in. Values that are not scalars stay names."""

    def replacement(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return match[1] if value is None or isinstance(value, (list, dict)) else to_text(value, match[1])

    return REFERENCE.sub(replacement, text)


def _is_unset(value: JsonValue, values: Values) -> bool:
    whole = REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return whole is not None and whole[1] not in values


def is_url(argument: str) -> bool:
    return argument_kind_of(argument, {}) == "url"


def is_in_host(text: str) -> bool:
    """Whether a parameter is part of the URL's scheme or host."""
    return not REFERENCE.fullmatch(text.strip()) and REFERENCE.search(text) is not None and in_scheme_or_host(text)


def to_text(value: JsonValue, name: str) -> str:
    """The value as it is written inside text. Raises Invalid for a list or an object."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            raise Invalid(f"{name} is used inside a text, so it must be a text or a number.")


def refuse_references(values: Values) -> None:
    """Raises Invalid for a value that contains a reference."""
    for name, value in values.items():
        if any("{{" in text for text in (*texts(value), *field_names(value))):
            raise Invalid(f"{name} has “{{{{” in it: a value is used as it is and cannot contain a reference.")


def with_optional_fields(names_: Sequence[str], schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The object's schema, in which these fields are not required."""
    required = schema.get("required")
    remaining = [name for name in required if name not in names_] if isinstance(required, list) else []
    return {**schema, "required": remaining}


def _in_text(text: str, values: Values, *, url: bool) -> JsonValue:
    if whole := REFERENCE.fullmatch(text.strip()):
        return values[whole[1]]
    if url and is_in_host(text):
        raise Invalid(f"“{text[:100]}”: a parameter may not be a part of a URL's scheme or host.")

    def scalar(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise Invalid(f"{match[1]} has no value, and “{text[:100]}” needs one.")
        text_value = to_text(values[match[1]], match[1])
        return quote(text_value, safe="") if url else text_value

    return REFERENCE.sub(scalar, text)
