"""Repairs mistakes of models in a tool's arguments by the tool's JSON schema, and reports each change.

It repairs only what has one reading: a list sent as text, a number instead of a text, another spelling of a field or of
an allowed value, a field that the tool does not have. Everything else is a problem, described so that a model can act.
"""

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from shared.repair.reader import SchemaReader, accepts_others, field_of, item_of
from shared.repair.schema import TYPE_WORDS, Schema, is_bounded, properties, required_names, types_of
from shared.repair.values import UNREADABLE, convert, json_type, normalized_text, parse_text, quoted

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GENERIC_WORDS = frozenset({"id", "code", "number", "value", "list", "method"})  # words that do not distinguish fields
NOT_GIVEN = "nothing given for an optional field, dropped"
CHARS_PER_STEP = 20  # characters of a text that one step reads
MAX_PROBLEMS = 20  # listed per call
_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d])[\s_-]+(?=\w)|(?<=\w)[\s_-]+(?=[^\W\d])|\A\s+|[\s.]+\Z")
_MAX_LISTED = 20  # enum values in a sentence
_WRAPPERS = ("arguments", "kwargs", "parameters", "params", "args", "input")


def match_names(names: Collection[str], known: Collection[str], required: Collection[str]) -> dict[str, str]:
    """Maps misspelled names to the schema's, where exactly one of each fits. Correct names are left out."""
    if all(name in known for name in names):
        return {}
    renamed: dict[str, str] = {}
    for alike, targets in ((_letters, known), (_singular, known), (_core, required)):
        strange = [name for name in names if name not in known and name not in renamed]
        free = [name for name in targets if name not in names and name not in renamed.values()]
        renamed |= _pairs(strange, free, alike)
    strange = [name for name in names if name not in known and name not in renamed]
    missing = [name for name in required if name not in names and name not in renamed.values()]
    if len(missing) == 1:  # with an extra word: "cancel_reason" for "reason"
        core = set(_core(missing[0]))
        longer = [name for name in strange if core and core < set(_core(name))]
        if len(longer) == 1:
            renamed[longer[0]] = missing[0]
    return renamed


def _pairs(strange: list[str], free: list[str], alike: Callable[[str], Hashable]) -> dict[str, str]:
    """Pairs of an unknown name and a free one with equal keys, where neither has a rival."""
    fitting, rivals = _by_key(free, alike), _by_key(strange, alike)
    return {
        names[0]: fitting[key][0]
        for key, names in rivals.items()
        if key and len(names) == 1 and len(fitting.get(key, ())) == 1
    }


def _by_key(names: Iterable[str], key: Callable[[str], Hashable]) -> dict[Hashable, list[str]]:
    groups: dict[Hashable, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return groups


def _name_words(name: str) -> list[str]:
    return [word for word in re.split(r"[^0-9a-z]+", _CAMEL.sub("_", name).lower()) if word]


def _letters(name: str) -> str:
    return "".join(_name_words(name))


def _singular(name: str) -> tuple[str, ...]:
    return tuple(word.removesuffix("s") for word in _name_words(name))


def _core(name: str) -> tuple[str, ...]:
    """The distinctive words: ("order",) for both order_id and orderNumber."""
    return tuple(word for word in _singular(name) if word not in _GENERIC_WORDS)


@dataclass(frozen=True)
class Fix:
    """A change. `field` is "" for the arguments as a whole; `after` is None if the value was dropped."""

    field: str
    before: JsonValue
    after: JsonValue
    why: str

    def __str__(self) -> str:
        return f"{self.field or 'arguments'}: {self.why} ({quoted(self.before)})"


@dataclass(frozen=True)
class RepairResult:
    """The repaired arguments. If there are `problems`, they should not be sent."""

    arguments: dict[str, JsonValue]
    fixes: tuple[Fix, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def repairs(self) -> tuple[str, ...]:
        """The fixes in words."""
        return tuple(str(fix) for fix in self.fixes)


def repair(arguments: JsonValue, schema: Schema) -> RepairResult:
    """Repair the arguments that a model wrote by this schema (of type object).

    Never raises, whatever the schema is: keywords of the wrong type are ignored. The time is bounded: oversized schemas
    are ignored, and oversized arguments are a problem.
    """
    if not is_bounded(arguments):
        return RepairResult({}, problems=("the arguments hold too many values, or nest them too deep: send fewer",))
    reader = SchemaReader(schema if is_bounded(cast("JsonValue", schema)) else {})
    attempts = [_repaired(arguments, form, reader) for form in reader.forms(reader.root)]
    return min(attempts, key=lambda result: (len(result.problems), len(result.fixes)))


def _repaired(arguments: JsonValue, form: Schema, reader: SchemaReader) -> RepairResult:
    repairer = _Repairer(reader)
    repaired = repairer.fields(repairer.arguments(arguments, form), form, "")
    return RepairResult(repaired, tuple(repairer.fixes), tuple(repairer.problems[:MAX_PROBLEMS]))


@dataclass
class _Repairer:
    """The repair of one value. `schemas` is shared by all branches of a call."""

    schemas: SchemaReader
    fixes: list[Fix] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def record[T: JsonValue](self, where: str, before: JsonValue, after: T, why: str) -> T:
        self.fixes.append(Fix(where, before, after, why))
        return after

    def arguments(self, value: JsonValue, schema: Schema) -> dict[str, JsonValue]:
        """The arguments as an object, unwrapped if necessary."""
        if value is None or value == "":
            return {}
        inner, why = _unwrap(value, schema)
        if why:
            return self.arguments(self.record("", value, inner, why), schema)
        if isinstance(value, dict):
            return value
        self.problems.append(f"the arguments must be an object, not {quoted(value)}")
        return {}

    def fields(self, values: Mapping[str, JsonValue], schema: Schema, path: str) -> dict[str, JsonValue]:
        """The fields with correct names and types."""
        known = properties(schema)
        if not self.schemas.spend(len(values) + len(known)):
            return dict(values)
        required = [name for name in required_names(schema) if name in known]
        open_to_others = accepts_others(schema)
        renamed = match_names(values, required if open_to_others else known, required)
        repaired: dict[str, JsonValue] = {}
        for key, value in values.items():
            name = renamed.get(key, key)
            where = f"{path}{name}"
            if name not in known and not open_to_others:
                self.record(f"{path}{key}", value, None, "no field of this tool, dropped")
                continue
            if name != key:
                self.record(where, key, name, "another spelling of the field")
            if value is None and name not in required and not self.schemas.allows_null(known.get(name, {})):
                self.record(where, None, None, NOT_GIVEN)
                continue
            repaired[name] = self.value(value, field_of(schema, name), where)
        missing = [name for name in required if name not in repaired]
        self.problems += [f"{path}{name} is missing" for name in missing]
        return {name: repaired[name] for name in known if name in repaired} | repaired

    def value(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        """The value by the form of the schema that needs the fewest problems and fixes."""
        forms = self.schemas.forms(schema)
        if len(forms) == 1:
            return self._formed(value, forms[0], where)
        attempts = [(each := _Repairer(self.schemas), each._formed(value, form, where)) for form in forms]
        best, value = min(attempts, key=lambda attempt: (len(attempt[0].problems), len(attempt[0].fixes)))
        self.fixes += best.fixes
        self.problems += best.problems
        return value

    def _formed(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        kinds = types_of(schema)
        if value is None and schema.get("nullable") is True:
            return None
        if kinds and json_type(value) not in kinds and not (json_type(value) == "integer" and "number" in kinds):
            converted = next(
                (read for kind in kinds if (read := self._as_kind(value, kind)) is not UNREADABLE), UNREADABLE
            )
            if converted is UNREADABLE:
                self.problems.append(f"{where} must be {_words(kinds)}, not {quoted(value)}")
                return value
            why = f"{TYPE_WORDS.get(json_type(value), 'a value')} read as {TYPE_WORDS[json_type(converted)]}"
            value = self.record(where, value, converted, why)
        return self._inside(value, schema, where)

    def _as_kind(self, value: JsonValue, kind: str) -> JsonValue:
        """The value as this type. A long text costs steps by its length."""
        length = len(value) if isinstance(value, str) else 0
        return convert(value, kind) if self.schemas.spend(length // CHARS_PER_STEP) else UNREADABLE

    def _inside(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        if isinstance(value, list):
            return [self.value(item, item_of(schema, at), f"{where}[{at}]") for at, item in enumerate(value)]
        allowed = schema.get("enum")
        if isinstance(allowed, list) and (not self.schemas.spend(len(allowed)) or value in allowed):
            return value
        if isinstance(value, dict) and (properties(schema) or isinstance(schema.get("additionalProperties"), dict)):
            return cast("JsonValue", self.fields(value, schema, f"{where}."))
        if isinstance(value, str) and (tidy := normalized_text(value, schema, where)) != value:
            value = self.record(where, value, tidy, "put into the form that is asked for")
        return self._allowed(value, allowed, where) if isinstance(allowed, list) else value

    def _allowed(self, value: JsonValue, allowed: list[JsonValue], where: str) -> JsonValue:
        if value in allowed:
            return value
        near = [choice for choice in allowed if _plain(choice) == _plain(value)]
        if len(near) == 1:
            return self.record(where, value, near[0], "another spelling of an allowed value")
        listed = [*map(quoted, allowed[:_MAX_LISTED]), *(["…"] if len(allowed) > _MAX_LISTED else [])]
        self.problems.append(f"{where} must be one of {', '.join(listed)}, not {quoted(value)}")
        return value


def _unwrap(value: JsonValue, schema: Schema) -> tuple[JsonValue, str]:
    """The inner value and what it was unwrapped from; "" if it is not wrapped."""
    if isinstance(value, str):
        read = parse_text(value, dict, list)
        if read is not UNREADABLE:
            return read, "a text read as an object"
        only = _only_text(schema)
        return ({only: value}, f"a bare text taken for {only}") if only else (value, "")
    if isinstance(value, list) and len(value) == 1:
        return value[0], "taken out of a list of one"
    if isinstance(value, dict) and len(value) == 1:
        key, value = next(iter(value.items()))
        inner = parse_text(value, dict)
        if (
            key in _WRAPPERS
            and not accepts_others(schema)
            and key not in properties(schema)
            and inner is not UNREADABLE
        ):
            return inner, f"taken out of {key}"
    return value, ""


def _only_text(schema: Schema) -> str:
    """The only required field, if it is a text."""
    required, known = required_names(schema), properties(schema)
    texts = [name for name in required if types_of(known.get(name, {})) == ("string",)]
    return texts[0] if len(required) == len(texts) == 1 else ""


def _plain(value: JsonValue) -> str:
    """The value without the case and the spaces between its words; a sign or an operator stays."""
    return _BETWEEN_WORDS.sub("", str(value).casefold())


def _words(kinds: tuple[str, ...]) -> str:
    return " or ".join(TYPE_WORDS.get(kind, kind) for kind in kinds)
