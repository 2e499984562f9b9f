"""Checks a call's arguments against the schema of its tool, at every depth: fields, types, and what references give.

A problem is a sentence that names the argument. A value that can only be known when the plan runs passes. Pure.
"""

from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from shared.domain.steps.references import Reference, is_whole, references
from shared.repair.reader import SchemaReader, accepts_others, field_of, item_of, takes_null, without_null
from shared.repair.repairer import match_names
from shared.repair.schema import TYPE_WORDS, Schema, is_bounded, properties, required_names, types_of
from shared.repair.values import MAX_QUOTE, json_type, normalized_text, quoted

MAX_STEPS = 30_000  # about three for each value; what comes after them passes
MAX_PROBLEMS = 20  # per call
MAX_NAMES = 20  # allowed values that a problem lists
NO_ARGUMENT = "the tool {tool} has no argument “{name}”."
TEXT: tuple[Schema, ...] = ({"type": "string"},)
CONVERTED = frozenset({"integer", "number", "boolean"})  # tools may read these from another scalar

type FormsOf = Callable[[Reference], Sequence[Schema] | None]


def unknown_forms(_: Reference) -> None:
    """The forms of a reference's value where no step declares any."""


def value_problems(
    arguments: Mapping[str, JsonValue], schema: Schema, tool: str, forms_of: FormsOf = unknown_forms
) -> tuple[str, ...]:
    """The problems of the arguments. `forms_of` gives the schemas that a reference's value may match, if known."""
    if not is_bounded(dict(arguments)):
        return ("the arguments hold too many values, or nest them too deep: send fewer.",)
    checker = _Checker(tool, SchemaReader(schema, MAX_STEPS), forms_of)
    return tuple(checker.value(dict(arguments), schema, "")[:MAX_PROBLEMS])


class _Checker:
    def __init__(self, tool: str, schemas: SchemaReader, forms_of: FormsOf) -> None:
        self._tool = tool
        self._schemas = schemas
        self._forms_of = forms_of

    def _fields(self, values: Mapping[str, JsonValue], schema: Schema, place: str) -> list[str]:
        """The problems of the fields of the object at `place`, "" for the arguments themselves."""
        known = properties(schema)
        if not self._schemas.spend(len(known)):
            return []
        required = [name for name in required_names(schema) if name in known]
        open_to_others = accepts_others(schema)
        respelled = {} if open_to_others else match_names(values, known, required)
        problems: list[str] = []
        for name, value in values.items():
            if name in known or open_to_others:
                problems += self.value(value, field_of(schema, name), f"{place}.{name}" if place else name)
            else:
                hint = f" Do you mean “{respelled[name]}”?" if name in respelled else ""
                problems.append(f"{self._no_field(place, name[:MAX_QUOTE])}{hint}")
        missing = [name for name in required if name not in values and name not in respelled.values()]
        return problems + [
            f"argument {place}: the field “{name}” is missing."
            if place
            else f"the tool {self._tool} needs the argument “{name}”."
            for name in missing
        ]

    def _no_field(self, place: str, name: str) -> str:
        if place:
            return f"argument {place}: it has no field “{name}”."
        return NO_ARGUMENT.format(tool=self._tool, name=name)

    def value(self, value: JsonValue, schema: Schema, place: str) -> list[str]:
        """The problems by the form that the value fits best. The place "" stands for the arguments themselves."""
        every = self._schemas.forms(schema)
        if value is None and any(takes_null(form) or form.get("nullable") is True for form in every):
            return []
        expected = without_null(every)
        fitting = [form for form in expected if self._has_type(value, types_of(form))]
        if not fitting:
            kinds = dict.fromkeys(TYPE_WORDS[kind] for form in expected for kind in types_of(form))
            return [f"argument {place}: it must be {' or '.join(kinds)}, {self._described(value)}."]
        return min((self._inside(value, form, place) for form in fitting), key=len)

    def _has_type(self, value: JsonValue, types: Sequence[str]) -> bool:
        if not types:
            return True
        if not isinstance(value, str) or not (referred := references(value)):
            kind = json_type(value)
            return kind in types or (kind == "integer" and "number" in types)
        possible = self._forms_of(referred[0]) if is_whole(value) else TEXT
        return possible is None or any(_may_be(types_of(form), types) for form in possible)

    def _described(self, value: JsonValue) -> str:
        referred = references(value) if isinstance(value, str) and is_whole(value) else ()
        possible = self._forms_of(referred[0]) if referred else None
        if possible is None:
            return f"not {quoted(value)}"
        kinds = dict.fromkeys(TYPE_WORDS[kind] for form in possible for kind in types_of(form))
        return f"and {referred[0].text} is {' or '.join(kinds)}"

    def _inside(self, value: JsonValue, form: Schema, place: str) -> list[str]:
        match value:
            case str() if references(value):
                return []
            case list():
                return [
                    p for at, item in enumerate(value) for p in self.value(item, item_of(form, at), f"{place}[{at}]")
                ]
            case dict():
                return self._fields(value, form, place)
            case str() if (tidy := normalized_text(value, form, place)) != value:
                return [f"argument {place}: write {quoted(tidy)}, without what is around it."]
        allowed = form.get("enum")
        if not isinstance(allowed, list) or not self._schemas.spend(len(allowed)) or value in allowed:
            return []
        listed = ", ".join([*map(quoted, allowed[:MAX_NAMES]), *(["…"] if len(allowed) > MAX_NAMES else [])])
        return [f"argument {place}: it must be one of {listed}, not {quoted(value)}."]


def _may_be(kinds: Sequence[str], types: Sequence[str]) -> bool:
    """Whether a tool that takes these types may take a value of one of these kinds; no kinds: any value."""
    is_scalar = any(kind not in ("object", "array", "null") for kind in kinds)
    return not kinds or any(kind in types for kind in kinds) or (is_scalar and not CONVERTED.isdisjoint(types))
