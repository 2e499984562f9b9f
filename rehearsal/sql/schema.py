"""The schema in the prompt: tables with columns, keys, references and samples."""

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from rehearsal.sql.tokenizer import split
from rehearsal.states import NAMES

MONEY = {"price", "cost", "amount", "total", "fee", "salary", "fine", "balance"}
_NUMBER = re.compile(r"int|float|real|double|numeric|decimal|money|serial", re.IGNORECASE)
_DATE = re.compile(r"date|timestamp", re.IGNORECASE)


class Column(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    type: str = ""
    nullable: bool = False
    key: bool = False
    references: str | None = None
    samples: tuple[JsonValue, ...] = ()

    @property
    def texts(self) -> list[str]:
        return [sample for sample in self.samples if isinstance(sample, str)]

    @property
    def boolean(self) -> bool:
        return "bool" in self.type.lower()

    @property
    def date(self) -> bool:
        return bool(_DATE.search(self.type))

    @property
    def number(self) -> bool:
        return bool(_NUMBER.search(self.type)) and not (self.date or self.boolean or self.identity)

    @property
    def identity(self) -> bool:
        """Whether the column identifies a row rather than measures something."""
        return self.key or bool(self.references) or self.words[-1:] == ("id",)

    @property
    def words(self) -> tuple[str, ...]:
        return split(self.name)

    @property
    def money(self) -> bool:
        return self.number and bool(set(self.words) & MONEY)

    @property
    def codes(self) -> bool:
        """Whether the column holds two-letter codes of US states."""
        return "state" in self.words and bool(self.texts) and all(text in NAMES for text in self.texts)


class Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ignored_types=(cached_property,))

    name: str
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
        return tuple(column.name for column in self.columns if column.key)

    @cached_property
    def own_key(self) -> str:
        """The only key column that references no other table."""
        own = [name for name in self.key if not self.column(name).references]
        return own[0] if len(own) == 1 else ""

    @cached_property
    def full_name(self) -> tuple[str, ...]:
        pair = ("first_name", "last_name")
        return pair if set(pair) <= set(self.names) else ()

    @cached_property
    def title(self) -> tuple[str, ...]:
        """The columns that name a row; empty if rows have no name."""
        preferred = ("name", "title", f"{'_'.join(self.words)}_name", "label")
        return self.full_name or next(((name,) for name in preferred if name in self.names), ())

    @cached_property
    def label(self) -> tuple[str, ...]:
        """The columns to show if the question names none."""
        part = sum(bool(column.references) for column in self.columns) > 1
        return self.title if self.title and not part else tuple(dict.fromkeys((*self.key, *self.title))) or self.names


class Tables(BaseModel):
    model_config = ConfigDict(frozen=True)

    by_name: dict[str, Table]

    def __getitem__(self, name: str) -> Table:
        return self.by_name[name]

    def __len__(self) -> int:
        return len(self.by_name)

    def column(self, table: str, column: str) -> Column:
        return self.by_name[table].column(column)


def read_tables(lines: Iterable[str]) -> Tables:
    """One JSON object a line; other lines are ignored."""
    tables = {}
    for line in lines:
        with suppress(ValidationError):
            table = Table.model_validate_json(line)
            tables[table.name] = table
    return Tables(by_name=tables)
