"""The tables a question may be about, as they are shown: columns, keys, references, samples; what they look like."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from rehearsal.sql.places import STATES
from rehearsal.sql.thesaurus import MONEY
from rehearsal.sql.words import split

_NUMBER = re.compile(r"int|float|real|double|numeric|decimal|number|money|serial", re.IGNORECASE)
_DAY = re.compile(r"^(?:1[5-9]|20)\d\d-[01]\d(?:-[0-3]\d)?(?:[T ].*)?$")


class Column(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ignored_types=(cached_property,))

    name: str
    type: str = ""
    nullable: bool = False
    key: bool = False
    references: str = ""
    comment: str = ""
    samples: tuple[JsonValue, ...] = ()

    @property
    def texts(self) -> list[str]:
        return [sample for sample in self.samples if isinstance(sample, str)]

    @property
    def boolean(self) -> bool:
        return "bool" in self.type.lower()

    @property
    def date(self) -> bool:
        """Holds days or moments, by its type or by its values."""
        if re.search(r"date|timestamp", self.type, re.IGNORECASE):
            return True
        return bool(self.texts) and all(_DAY.match(text) for text in self.texts)

    @property
    def number(self) -> bool:
        return bool(_NUMBER.search(self.type)) and not self.date and not self.boolean

    @property
    def identity(self) -> bool:
        """Names a row rather than measuring something."""
        return self.key or bool(self.references) or split(self.name)[-1:] == ("id",)

    @property
    def year(self) -> bool:
        return self.number and "year" in split(self.name)

    @property
    def money(self) -> bool:
        words = split(self.name)
        heads = words[-2:] if words[-1] in ("cent", "usd", "eur", "dollar", "euro") else words[-1:]
        return self.number and not self.identity and any(word in MONEY for word in heads)

    @property
    def codes(self) -> bool:
        """Whether states are written as their two letters here."""
        return "state" in split(self.name) and all(text in STATES for text in self.texts)


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ignored_types=(cached_property,))

    name: str
    comment: str = ""
    rows: int | None = None
    columns: tuple[Column, ...] = Field(min_length=1)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return split(self.name)

    @cached_property
    def key(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.key) or self._likely_key

    @cached_property
    def _likely_key(self) -> tuple[str, ...]:
        wanted = (("id",), (*self.words, "id"), (self.words[-1], "id"))
        return tuple(column.name for column in self.columns if split(column.name) in wanted)[:1]

    @cached_property
    def full_name(self) -> tuple[str, ...]:
        """The columns of a person's name in two parts, if there are such."""
        found = {split(name): name for name in self.names}
        pairs = ((("first", "name"), ("last", "name")), (("given", "name"), ("family", "name")))
        return next(
            ((found[first], found[last]) for first, last in pairs if first in found and last in found),
            (),
        )

    @cached_property
    def title(self) -> tuple[str, ...]:
        """The columns that people call a row by: its name or title; () where rows have none."""
        if self.full_name:
            return self.full_name
        found = {split(name): name for name in self.names}
        wanted = [("name",), ("title",), (*self.words, "name"), (self.words[-1], "name"), ("full", "name"), ("label",)]
        return next(((found[one],) for one in wanted if one in found), ())

    @cached_property
    def own_key(self) -> str:
        """The one column of the key that no other table gives."""
        own = [name for name in self.key if not self.column(name).references] or list(self.key[-1:])
        return own[0] if len(own) == 1 else ""

    @property
    def own_key_alone(self) -> bool:
        """Whether rows stand for themselves: nothing of another table is in their key."""
        return len(self.key) == 1 and not self.column(self.key[0]).references

    @cached_property
    def label(self) -> tuple[str, ...]:
        """What to show of a row where nothing was asked for by name."""
        borrowed = bool(self.title) and sum(bool(column.references) for column in self.columns) > 1
        if self.title and not borrowed:
            return self.title
        return tuple(dict.fromkeys((*self.key, *self.title))) or self.names


class Tables(BaseModel):
    """All tables shown, by name."""

    model_config = ConfigDict(frozen=True)

    by_name: dict[str, Table]

    def __getitem__(self, name: str) -> Table:
        return self.by_name[name]

    @property
    def tells_nullable(self) -> bool:
        """Whether it is told which columns may be empty."""
        return any(column.nullable for table in self.by_name.values() for column in table.columns)

    def __len__(self) -> int:
        return len(self.by_name)

    def column(self, table: str, column: str) -> Column:
        return self.by_name[table].column(column)

    def only(self, names: Iterable[str]) -> "Tables":
        return Tables(by_name={name: self.by_name[name] for name in names if name in self.by_name})


def read_tables(lines: Iterable[str]) -> Tables:
    """One JSON object a line; a line that is none is passed over."""
    found = {}
    for line in lines:
        with suppress(ValidationError, json.JSONDecodeError):
            table = Table.model_validate(_plain(json.loads(line)))
            found[table.name] = table
    return Tables(by_name=found)


def _plain(value: object) -> object:
    """Fields that are null are fields left out."""
    if isinstance(value, dict):
        return {
            name: inner if name == "samples" else _plain(inner) for name, inner in value.items() if inner is not None
        }
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
