"""References of a plan's step to outputs of earlier steps: `{{steps.find.output.items[0].id}}`. Pure.

A call of a turn refers to earlier calls of the turn by their numbers: `{{calls.1.output.items[0].id}}`.

There are no expressions. A reference that is a whole value keeps the type of the output; inside text the output must be
a scalar. References are resolved once: outputs are never searched for references. `{{item.id}}` refers to the current
item of a step that runs for each item of a list.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from parley.events.values import STEP_ID, ActionSpec
from shared.domain.kernel.state import Turn
from shared.domain.turn.action_ids import ActionId

_PART = r"\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,9}\]"
_STEP = STEP_ID.removeprefix("^").removesuffix("$")
_REFERENCE = re.compile(
    rf"\{{\{{\s*(?:(?:steps\.(?P<step>{_STEP})|calls\.(?P<call>[1-9][0-9]{{0,2}}))\.output|item)(?P<path>(?:{_PART})*)\s*\}}\}}"
)
_BRACES = re.compile(r"\{\{.*?(?:\}\}|$)", re.DOTALL)
_PARTS = re.compile(_PART)

ITEM = ""  # the step name of references to the current item
Outputs = Mapping[str, JsonValue]  # by step id


class Reference(NamedTuple):
    """`text` is the reference as written; `path` leads into the output by names and indexes.

    `step` is a step's id, the number of a call, or ITEM.
    """

    text: str
    step: str
    path: tuple[str | int, ...]


class Unresolved(Exception):
    """A reference has no usable value; the message says which reference, and why."""


def references(value: JsonValue) -> tuple[Reference, ...]:
    """All references in the value's strings, in order."""
    return tuple(reference for text in texts(value) for reference in _references_in(text))


def is_whole(text: str) -> bool:
    """Whether the text is exactly one reference, which keeps the type of the output."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def malformed_references(value: JsonValue) -> tuple[str, ...]:
    """Texts in braces that are not valid references, and field names that contain references."""
    wrong = [part for text in texts(value) for part in _BRACES.findall(text) if not _REFERENCE.fullmatch(part)]
    return (*wrong, *(name for name in field_names(value) if "{{" in name))


def referenced_calls(value: JsonValue) -> tuple[int, ...]:
    """The numbers of the turn's calls that the value refers to."""
    return tuple(dict.fromkeys(int(reference.step) for reference in references(value) if reference.step.isdigit()))


def awaits_values(turn: Turn, spec: ActionSpec) -> bool:
    """Whether the call refers to calls of its turn that it depends on: it starts once their results are filled in."""
    turn_number = ActionId.parse(spec.id).group
    needed = (str(ActionId(turn_number, str(call))) for call in referenced_calls(spec.arguments))
    return turn.rules.fills_calls and any(call in spec.depends_on for call in needed)


def referenced_steps(value: JsonValue) -> tuple[str, ...]:
    """The steps that the value refers to."""
    return tuple(dict.fromkeys(reference.step for reference in references(value) if reference.step != ITEM))


def resolve(value: JsonValue, outputs: Outputs) -> JsonValue:
    """The value with its references replaced by outputs. Raises Unresolved."""
    match value:
        case str():
            whole = _REFERENCE.fullmatch(value.strip())
            return _value(_reference(whole), outputs) if whole else resolve_text(value, outputs)
        case list():
            return [resolve(item, outputs) for item in value]
        case dict():
            return {name: resolve(item, outputs) for name, item in value.items()}
        case _:
            return value


def resolve_text(text: str, outputs: Outputs, encode: Callable[[str], str] = str) -> str:
    """The text with its references replaced by scalars, each encoded. Raises Unresolved."""

    def scalar(match: re.Match[str]) -> str:
        reference = _reference(match)
        value = _value(reference, outputs)
        if isinstance(value, (dict, list)):
            raise Unresolved(f"{reference.text} stands for several values, which cannot be put into a text.")
        return encode(_to_text(value))

    return _REFERENCE.sub(scalar, text)


def _value(reference: Reference, outputs: Outputs) -> JsonValue:
    if reference.step not in outputs:
        raise Unresolved(f"{reference.text}: {_whose(reference)} nothing.")
    value = outputs[reference.step]
    for part in reference.path:
        match part, value:
            case str(), dict() if part in value:
                value = value[part]
            case int(), list() if part < len(value):
                value = value[part]
            case _:
                raise Unresolved(f"{reference.text}: there is no {part} in {_what(reference)}.")
    if value is None:
        raise Unresolved(f"{reference.text} stands for nothing: {_whose(reference)} null there.")
    return value


def _whose(reference: Reference) -> str:
    return "the item has" if reference.step == ITEM else f"{_name(reference)} gave"


def _what(reference: Reference) -> str:
    return "the item" if reference.step == ITEM else f"what {_name(reference)} gave"


def _name(reference: Reference) -> str:
    return f"{'call' if reference.step.isdigit() else 'step'} {reference.step}"


def _to_text(value: JsonValue) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return str(value)


def _references_in(text: str) -> Iterator[Reference]:
    return (_reference(match) for match in _REFERENCE.finditer(text))


def _reference(match: re.Match[str]) -> Reference:
    path = (part[1:] if part.startswith(".") else int(part[1:-1]) for part in _PARTS.findall(match["path"]))
    return Reference(match[0], match["step"] or match["call"] or ITEM, tuple(path))


def texts(value: JsonValue) -> Iterator[str]:
    """All strings in the value, in order, without field names."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from texts(item)
        case dict():
            for item in value.values():
                yield from texts(item)


def field_names(value: JsonValue) -> Iterator[str]:
    """The names of fields, at any depth."""
    match value:
        case list():
            for item in value:
                yield from field_names(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from field_names(item)
