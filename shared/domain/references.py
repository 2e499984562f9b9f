"""References of a plan's step to what earlier steps gave: `{{steps.find.output.items[0].id}}`. Pure.

No expressions and no templates. Alone in a value, a reference keeps the type of what it stands for; inside text it must
stand for a scalar. It is resolved once: what a step gave is never read for references again. `{{item.id}}` refers to
the item of the list that a step is done for.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from parley.events.values import STEP_ID

_PART = r"\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,9}\]"
_STEP = STEP_ID.removeprefix("^").removesuffix("$")
_REFERENCE = re.compile(rf"\{{\{{\s*(?:steps\.(?P<step>{_STEP})\.output|item)(?P<path>(?:{_PART})*)\s*\}}\}}")
_BRACES = re.compile(r"\{\{.*?(?:\}\}|$)", re.DOTALL)
_PARTS = re.compile(_PART)

ITEM = ""  # stands for a step where a reference is to the item
Outputs = Mapping[str, JsonValue]  # by step


class Reference(NamedTuple):
    """`text` is as it is written; `path` leads to a part of the output, by names and positions. `step` may be ITEM."""

    text: str
    step: str
    path: tuple[str | int, ...]


class Unresolved(Exception):
    """A reference stands for nothing that can be used; the message says which, and why."""


def references(value: JsonValue) -> tuple[Reference, ...]:
    """All references in the value's texts, in order."""
    return tuple(reference for text in texts(value) for reference in _found(text))


def is_whole(text: str) -> bool:
    """Whether the text is one reference and nothing else, which keeps the type of what it stands for."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def malformed(value: JsonValue) -> tuple[str, ...]:
    """What looks like a reference and is none, and references in names, where they may not be."""
    wrong = [part for text in texts(value) for part in _BRACES.findall(text) if not _REFERENCE.fullmatch(part)]
    return (*wrong, *(name for name in _names(value) if "{{" in name))


def steps_in(value: JsonValue) -> tuple[str, ...]:
    """The steps that the value refers to."""
    return tuple(dict.fromkeys(one.step for one in references(value) if one.step != ITEM))


def resolved(value: JsonValue, outputs: Outputs) -> JsonValue:
    """The value with what its references stand for. Raises Unresolved."""
    match value:
        case str():
            whole = _REFERENCE.fullmatch(value.strip())
            return _value(_reference(whole), outputs) if whole else in_text(value, outputs)
        case list():
            return [resolved(item, outputs) for item in value]
        case dict():
            return {name: resolved(item, outputs) for name, item in value.items()}
        case _:
            return value


def in_text(text: str, outputs: Outputs, encode: Callable[[str], str] = str) -> str:
    """The text with the scalars that its references stand for, each encoded. Raises Unresolved."""

    def scalar(match: re.Match[str]) -> str:
        reference = _reference(match)
        found = _value(reference, outputs)
        if isinstance(found, (dict, list)):
            raise Unresolved(f"{reference.text} stands for several values, which cannot be put into a text.")
        return encode(_spelled(found))

    return _REFERENCE.sub(scalar, text)


def _value(reference: Reference, outputs: Outputs) -> JsonValue:
    if reference.step not in outputs:
        raise Unresolved(f"{reference.text}: {_whose(reference)} nothing.")
    found = outputs[reference.step]
    for part in reference.path:
        match part, found:
            case str(), dict() if part in found:
                found = found[part]
            case int(), list() if part < len(found):
                found = found[part]
            case _:
                raise Unresolved(f"{reference.text}: there is no {part} in {_what(reference)}.")
    if found is None:
        raise Unresolved(f"{reference.text} stands for nothing: {_whose(reference)} null there.")
    return found


def _whose(reference: Reference) -> str:
    return "the item has" if reference.step == ITEM else f"step {reference.step} gave"


def _what(reference: Reference) -> str:
    return "the item" if reference.step == ITEM else f"what step {reference.step} gave"


def _spelled(value: JsonValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return str(value)


def _found(text: str) -> Iterator[Reference]:
    return (_reference(match) for match in _REFERENCE.finditer(text))


def _reference(match: re.Match[str]) -> Reference:
    path = (part[1:] if part.startswith(".") else int(part[1:-1]) for part in _PARTS.findall(match["path"]))
    return Reference(match[0], match["step"] or ITEM, tuple(path))


def texts(value: JsonValue) -> Iterator[str]:
    """All texts in the value, in order; names of fields are none."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts(item)
        case dict():
            for item in value.values():
                yield from texts(item)


def _names(value: JsonValue) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _names(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _names(item)
