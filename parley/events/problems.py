"""Validation errors of data from outside, as sentences that say what to do. Pure."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

TYPE_NAME = re.compile(r"[a-z][a-z_]{0,39}")
MAX_READ, MAX_SENTENCES = 50, 3  # problems at most; a large message may have one in every line
# By pydantic's error type; the braces hold values of the error's context.
SENTENCES: Mapping[str, str] = {
    "missing": "is missing: give it",
    "extra_forbidden": "is not known here: leave it out",
    "string_type": "must be text",
    "string_sub_type": "must be text",
    "string_unicode": "must be text that UTF-8 can write",
    "string_too_long": "may have {max_length} characters at most: make it shorter",
    "string_pattern_mismatch": "must have the form {pattern}",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number that is not infinite",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object with fields",
    "model_type": "must be an object with fields",
    "model_attributes_type": "must be an object with fields",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "json_invalid": "must be JSON ({error})",
}
Problem = Mapping[str, Any]


def problem_sentences(problems: Iterable[Problem], *, whole: str = "body", skip: int = 0) -> str:
    """The first few of pydantic's errors, as sentences.

    `whole`: what to call the data as a whole. `skip`: leading parts of each location that name no field.
    """
    places: dict[tuple[str, ...], list[str]] = {}
    for problem in islice(problems, MAX_READ):
        place = _fields(problem["loc"][skip:], whole=problem["type"] == "extra_forbidden")
        places.setdefault(place, []).append(problem_text(problem))
    # For a union or a list, the errors inside the value say more than the one about the value.
    deepest = [
        place for place in places if not any(place == other[: len(place)] and place != other for other in places)
    ]
    return " ".join(_problem_sentence(place, places[place], whole) for place in deepest[:MAX_SENTENCES])


def _problem_sentence(place: tuple[str, ...], wrong: Sequence[str], whole: str) -> str:
    what = _place_in_words(place) if place else f"The {whole}"
    return f"{what} {', or '.join(dict.fromkeys(wrong))}."


def _place_in_words(place: tuple[str, ...]) -> str:
    """The field; one of a plan's step by the step's number as people see it."""
    for at, (part, number) in enumerate(pairwise(place)):
        if part == "steps" and number.isdecimal():
            field = ".".join(place[at + 2 :])
            return f"Step {int(number) + 1}{f': `{field}`' if field else ''}"
    return f"`{'.'.join(place)}`"


def _fields(location: Sequence[int | str], *, whole: bool) -> tuple[str, ...]:
    """The field names and indexes in a location, without pydantic's names for the types of a union.

    `whole`: the last part is always the sender's.
    """
    *outer, last = [str(part) for part in location] or [""]
    names = [part for part in outer if not _is_kind(part)]
    return (*names, *([last] if last and (whole or not _is_kind(last)) else []))


def _is_kind(part: str) -> bool:
    """Whether pydantic wrote this part: `Step`, `constrained-str`, `list[str]`."""
    return part[:1].isupper() or "-" in part or "[" in part


def problem_text(problem: Problem) -> str:
    """What is wrong with the value, as the end of a sentence."""
    kind, context = problem["type"], problem.get("ctx") or {}
    match kind:
        case "string_too_short" | "too_short":
            return _too_short(context["min_length"], "character" if kind == "string_too_short" else "item")
        case "too_long":
            return f"may have {context['max_length']} items at most: leave some out"
        case "value_error" | "assertion_error":
            message = str(problem["msg"]).partition(", ")[2]
            return f"cannot be used: {message.rstrip('.')}"
        case _ if kind in SENTENCES:
            return SENTENCES[kind].format_map(context)
    return f"cannot be used: {problem['msg']}"


def _too_short(least: int, what: str) -> str:
    if least == 1:
        return f"must not be empty: give at least one {what}"
    return f"needs at least {least} {what}s"


def unknown_type_message(tag: str, known: Sequence[str]) -> str:
    """The refusal of an unknown message type: the known types, and the one that was probably meant.

    Only text that could be a type's name is quoted: anything else may be a secret in the wrong place.
    """
    near = difflib.get_close_matches(tag[:64], known, n=1)
    meant = f" Did you mean “{near[0]}”?" if near else ""
    named = f"type “{tag}”" if TYPE_NAME.fullmatch(tag) else "this type"
    return f"There is no message of {named}.{meant} The types are: {', '.join(known)}."
