"""The schema of a database for users and models: tables with keys, comments and sample values."""

import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

type Dialect = Literal["sqlite", "postgres"]

MAX_DISTINCT = 60  # distinct values up to which a text column shows all, since a query may need one exactly
MAX_EXAMPLES = 3  # values shown of every other column
MAX_SAMPLE = 60


class Hidden(BaseModel):
    """Tables (`secrets`) and columns (`users.email`, `*.password`). Case does not matter, as in SQL."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    names: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """The only tables that may be read, if any are named."""

    @classmethod
    def parse(cls, text: str, only: str = "") -> "Hidden":
        """Parse comma-separated names."""
        return cls(names=_split(text), only=_split(only))

    def hides_table(self, name: str) -> bool:
        """Whether the whole table is hidden."""
        return any(fnmatchcase(name.lower(), hidden.lower()) for hidden in self.names if "." not in hidden)

    def allows_table(self, name: str) -> bool:
        """Whether the table may be read: not hidden, and in `only` if that is set."""
        if self.hides_table(name):
            return False
        return not self.only or any(fnmatchcase(name.lower(), listed.lower()) for listed in self.only)

    def hides_column(self, table: str, name: str) -> bool:
        """Whether this column is hidden, alone or with its table."""
        whole = f"{table}.{name}".lower()
        return self.hides_table(table) or any(
            fnmatchcase(whole, hidden.lower()) for hidden in self.names if "." in hidden
        )


def _split(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip().strip('"`')))


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnInfo(_Frozen):
    """One visible column. `written`: as SQL has to write its name, where that is not the name itself."""

    name: str
    written: str = ""
    type: str
    nullable: bool = True
    key: bool = False
    """Part of the table's primary key."""
    references: str | None = None
    """Where its foreign key leads, like "users.user_id"."""
    comment: str = ""
    samples: tuple[JsonValue, ...] = ()


class TableInfo(_Frozen):
    """One visible table or view. Outside the schema that is read first, its schema stands before its name.

    `written`: as SQL has to write its name, where that is not the name itself.
    """

    name: str
    written: str = ""
    comment: str = ""
    rows: int | None = None
    """How many there are, about; None: not known."""
    columns: tuple[ColumnInfo, ...] = ()

    def line(self) -> dict[str, Any]:
        """The table for a prompt, without false and empty values, which would only cost tokens."""
        table = self.model_dump(mode="json", exclude=None if self.written else {"written"})
        columns = [{name: value for name, value in column.items() if value} for column in table["columns"]]
        return table | {"columns": columns}


class Schema(_Frozen):
    """All visible tables. Names are compared without case, as in SQL; among those, the exact name comes first."""

    dialect: Dialect
    tables: tuple[TableInfo, ...] = ()

    def table(self, name: str) -> TableInfo | None:
        alike = (table for table in self.tables if table.name.lower() == name.lower())
        return max(alike, key=lambda table: table.name == name, default=None)

    def only(self, names: Iterable[str]) -> "Schema":
        """The schema with these tables only; unknown names are ignored."""
        exact = set(names)
        folded = {name.lower() for name in exact - {table.name for table in self.tables}}
        tables = (table for table in self.tables if table.name in exact or table.name.lower() in folded)
        return self.model_copy(update={"tables": tuple(tables)})

    def trimmed(self, columns: Mapping[str, Iterable[str]]) -> "Schema":
        """The schema with these columns of these tables, plus keys and references. Other tables stay complete."""
        by_table = {table.lower(): {name.lower() for name in names} for table, names in columns.items()}

        def trim(table: TableInfo) -> TableInfo:
            names = by_table.get(table.name.lower())
            if names is None:
                return table
            visible = tuple(
                column for column in table.columns if column.name.lower() in names or column.key or column.references
            )
            return table.model_copy(update={"columns": visible})

        return self.model_copy(update={"tables": tuple(trim(table) for table in self.tables)})

    def lines(self) -> list[str]:
        """The tables as JSON lines."""
        return [json.dumps(table.line(), ensure_ascii=False) for table in self.tables]


def choose_samples(values: list[JsonValue], *, complete: bool) -> tuple[JsonValue, ...]:
    """All values, sorted, if they are complete, few and short; otherwise some examples."""
    short = all(isinstance(value, str) and len(value) <= MAX_SAMPLE for value in values)
    if complete and short and len(values) <= MAX_DISTINCT:
        return tuple(sorted(values, key=str))
    return tuple(_cut(value) for value in values[:MAX_EXAMPLES])


def _cut(value: JsonValue) -> JsonValue:
    if isinstance(value, str) and len(value) > MAX_SAMPLE:
        return value[: MAX_SAMPLE - 1] + "…"
    return value
