"""Puts right what models get wrong in a tool's arguments, against its JSON schema; and tells every change.

Only what can be read in one way is repaired: a list sent as text, a number where a text belongs, another spelling of a
field or of an allowed value, a field that the tool does not have. The rest is a problem, in words a model can act on.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from shared.repair.bounds import is_bounded
from shared.repair.names import matched
from shared.repair.schema import KINDS, Schema, alternatives, as_schema, kinds_of, properties, required_of
from shared.repair.values import NOT_READ, as_kind, kind_of, parsed, tidied

STEPS = 10_000  # comparisons for one call: what is not reached by then is left as it was sent
CHARACTERS = 20  # of a text that are read in one step
PROBLEMS = 20  # that are listed for one call
_ALLOWED = 20  # of an enum that a sentence lists
_WRAPPERS = ("arguments", "kwargs", "parameters", "params", "args", "input")
_SHOWN = 80  # characters of a value that a sentence quotes


@dataclass(frozen=True)
class Fix:
    """One thing that was changed; `field` is "" for the arguments as a whole, `after` None where it was dropped."""

    field: str
    before: JsonValue
    after: JsonValue
    why: str

    def __str__(self) -> str:
        return f"{self.field or 'arguments'}: {self.why} ({_short(self.before)})"


@dataclass(frozen=True)
class Repaired:
    """The arguments as far as they could be put right. With `problems` they should not be sent."""

    arguments: dict[str, JsonValue]
    fixes: tuple[Fix, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def repairs(self) -> tuple[str, ...]:
        """The fixes in words."""
        return tuple(str(fix) for fix in self.fixes)


def repair(arguments: JsonValue, schema: Schema) -> Repaired:
    """The arguments that a model wrote, as the schema (of type object) wants them.

    Never raises, whatever the schema is: a keyword of the wrong type says nothing. The time is bounded, too: a schema
    or arguments without measure are left to whoever receives them.
    """
    if not is_bounded(arguments):
        return Repaired({}, problems=("the arguments hold too many values, or nest them too deep: send fewer",))
    schema = schema if is_bounded(cast("JsonValue", schema)) else {}
    work = _Work([STEPS])
    found = work.whole(arguments, schema)
    return Repaired(work.fields(found, schema, ""), tuple(work.fixes), tuple(work.problems[:PROBLEMS]))


@dataclass
class _Work:
    """`budget` holds the steps that are left, and is shared by all branches of one call."""

    budget: list[int]
    fixes: list[Fix] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def spend(self, steps: int) -> bool:
        """Whether there are so many steps left."""
        self.budget[0] -= steps
        return self.budget[0] >= 0

    def fixed[T: JsonValue](self, where: str, before: JsonValue, after: T, why: str) -> T:
        self.fixes.append(Fix(where, before, after, why))
        return after

    def whole(self, given: JsonValue, schema: Schema) -> dict[str, JsonValue]:
        """One object, out of whatever it came in."""
        if given is None or given == "":
            return {}
        inner, why = _unwrapped(given, schema)
        if why:
            return self.whole(self.fixed("", given, inner, why), schema)
        if isinstance(given, dict):
            return given
        self.problems.append(f"the arguments must be an object, not {_short(given)}")
        return {}

    def fields(self, given: Mapping[str, JsonValue], schema: Schema, path: str) -> dict[str, JsonValue]:
        """Every field by its right name and as the right kind of value."""
        known = properties(schema)
        if not self.spend(len(given) + len(known)):
            return dict(given)
        required = [name for name in required_of(schema) if name in known]
        renamed = matched(tuple(given), tuple(known), tuple(required))
        loose = not known or bool(schema.get("additionalProperties"))
        found: dict[str, JsonValue] = {}
        for key, value in given.items():
            name = renamed.get(key, key)
            where = f"{path}{name}"
            if name not in known and not loose:
                self.fixed(f"{path}{key}", value, None, "no field of this tool, dropped")
                continue
            if name != key:
                self.fixed(where, key, name, "another spelling of the field")
            if value is None and name not in required and not _allows(known.get(name, {}), "null"):
                self.fixed(where, None, None, "nothing given for an optional field, dropped")
                continue
            found[name] = self.value(value, known.get(name, {}), where)
        lacking = [name for name in required if name not in found]
        self.problems += [f"{path}{name} is missing" for name in lacking]
        return {name: found[name] for name in known if name in found} | found

    def value(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        if not self.spend(1):
            return value
        if branches := alternatives(schema):
            return self._branch(value, branches, where)
        kinds = kinds_of(schema)
        if kinds and kind_of(value) not in kinds and not (kind_of(value) == "integer" and "number" in kinds):
            converted = next((one for kind in kinds if (one := self._as_kind(value, kind)) is not NOT_READ), NOT_READ)
            if converted is NOT_READ:
                self.problems.append(f"{where} must be {_words(kinds)}, not {_short(value)}")
                return value
            why = f"{KINDS.get(kind_of(value), 'a value')} read as {KINDS[kind_of(converted)]}"
            value = self.fixed(where, value, converted, why)
        return self._inside(value, schema, where)

    def _as_kind(self, value: JsonValue, kind: str) -> JsonValue:
        """The value read as this kind; a long text costs as much as it takes to look into it."""
        length = len(value) if isinstance(value, str) else 0
        return as_kind(value, kind) if self.spend(length // CHARACTERS) else NOT_READ

    def _inside(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        if isinstance(value, list):
            items = as_schema(schema.get("items"))
            return [self.value(one, items, f"{where}[{place}]") for place, one in enumerate(value)]
        if isinstance(value, dict) and properties(schema):
            return cast("JsonValue", self.fields(value, schema, f"{where}."))
        if isinstance(value, str) and (tidy := tidied(value, schema, where)) != value:
            value = self.fixed(where, value, tidy, "put into the form that is asked for")
        return self._allowed(value, schema, where)

    def _allowed(self, value: JsonValue, schema: Schema, where: str) -> JsonValue:
        allowed = schema.get("enum")
        if not isinstance(allowed, list) or not self.spend(len(allowed)) or value in allowed:
            return value
        near = [one for one in allowed if _plain(one) == _plain(value)]
        if len(near) == 1:
            return self.fixed(where, value, near[0], "another spelling of an allowed value")
        listed = [*map(_short, allowed[:_ALLOWED]), *(["…"] if len(allowed) > _ALLOWED else [])]
        self.problems.append(f"{where} must be one of {', '.join(listed)}, not {_short(value)}")
        return value

    def _branch(self, value: JsonValue, branches: list[Schema], where: str) -> JsonValue:
        """The first alternative that the value fits as it is, else the first that it can be made to fit."""
        tried = []
        for branch in branches:
            work = _Work(self.budget)
            tried.append((work, work.value(value, branch, where)))
        best, found = min(tried, key=lambda one: (len(one[0].problems), len(one[0].fixes)))
        self.fixes += best.fixes
        self.problems += best.problems
        return found


def _unwrapped(given: JsonValue, schema: Schema) -> tuple[JsonValue, str]:
    """What is inside, and what it was taken out of; "" where there is nothing to take it out of."""
    if isinstance(given, str):
        read = parsed(given, dict, list)
        if read is not NOT_READ:
            return read, "a text read as an object"
        only = _only_text(schema)
        return ({only: given}, f"a bare text taken for {only}") if only else (given, "")
    if isinstance(given, list) and len(given) == 1:
        return given[0], "taken out of a list of one"
    if isinstance(given, dict) and len(given) == 1:
        key, value = next(iter(given.items()))
        inner = parsed(value, dict)
        if key in _WRAPPERS and key not in properties(schema) and inner is not NOT_READ:
            return inner, f"taken out of {key}"
    return given, ""


def _allows(schema: Schema, kind: str) -> bool:
    branches = alternatives(schema)
    kinds = kinds_of(schema)
    return kind in kinds or (not kinds and not branches) or any(_allows(branch, kind) for branch in branches)


def _only_text(schema: Schema) -> str:
    """The one field that must be given, if it is a text."""
    required, known = required_of(schema), properties(schema)
    texts = [name for name in required if kinds_of(known.get(name, {})) == ("string",)]
    return texts[0] if len(required) == len(texts) == 1 else ""


def _plain(value: JsonValue) -> str:
    return re.sub(r"[^0-9a-z]+", "", str(value).casefold())


def _words(kinds: tuple[str, ...]) -> str:
    return " or ".join(KINDS.get(kind, kind) for kind in kinds)


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
