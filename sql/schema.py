"""What a database holds, as a person and a model are shown it: tables with keys, comments and sample values."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

type Dialect = Literal["sqlite", "postgres"]

FEW = 60  # distinct values of a text column that are all shown, as one may have to be named exactly
EXAMPLES = 3  # shown of every other column
SAMPLE_LENGTH = 60


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnInfo(_Frozen):
    """One visible column."""

    name: str
    type: str
    nullable: bool = True
    key: bool = False
    """Part of the table's primary key."""
    references: str | None = None
    """Where its foreign key leads, like "users.user_id"."""
    comment: str = ""
    samples: tuple[JsonValue, ...] = ()


class TableInfo(_Frozen):
    """One visible table or view."""

    name: str
    comment: str = ""
    rows: int | None = None
    """How many there are, about; None: not known."""
    columns: tuple[ColumnInfo, ...] = ()

    def line(self) -> dict[str, Any]:
        """For a prompt: what is false or empty would only cost tokens."""
        columns = [
            {
                "name": column.name,
                "type": column.type,
                "nullable": column.nullable,
                "key": column.key,
                "references": column.references,
                "comment": column.comment,
                "samples": list(column.samples),
            }
            for column in self.columns
        ]
        whole = {"name": self.name, "comment": self.comment, "rows": self.rows}
        return whole | {"columns": [{name: value for name, value in column.items() if value} for column in columns]}


class Schema(_Frozen):
    """All visible tables. Names are looked up the way SQL does: without regard to case."""

    dialect: Dialect
    tables: tuple[TableInfo, ...] = ()

    def table(self, name: str) -> TableInfo | None:
        return next((table for table in self.tables if table.name.lower() == name.lower()), None)

    def only(self, names: Iterable[str]) -> "Schema":
        """These tables; a name that is none of them is passed over."""
        wanted = {name.lower() for name in names}
        return self.model_copy(update={"tables": tuple(one for one in self.tables if one.name.lower() in wanted)})

    def trimmed(self, columns: Mapping[str, Iterable[str]]) -> "Schema":
        """These columns of these tables, with keys and references besides; other tables stay whole."""
        wanted = {table.lower(): {name.lower() for name in names} for table, names in columns.items()}

        def trim(table: TableInfo) -> TableInfo:
            names = wanted.get(table.name.lower())
            if names is None:
                return table
            kept = tuple(one for one in table.columns if one.name.lower() in names or one.key or one.references)
            return table.model_copy(update={"columns": kept})

        return self.model_copy(update={"tables": tuple(trim(table) for table in self.tables)})

    def lines(self) -> list[str]:
        """One table a line, as JSON."""
        return [json.dumps(table.line(), ensure_ascii=False) for table in self.tables]


def few_or_examples(found: list[JsonValue], *, complete: bool) -> tuple[JsonValue, ...]:
    """All of them, sorted, when no more were found than are shown and each is short enough to be written out."""
    short = all(isinstance(value, str) and len(value) <= SAMPLE_LENGTH for value in found)
    if complete and short and len(found) <= FEW:
        return tuple(sorted(found, key=str))
    return tuple(_cut(value) for value in found[:EXAMPLES])


def _cut(value: JsonValue) -> JsonValue:
    if isinstance(value, str) and len(value) > SAMPLE_LENGTH:
        return value[: SAMPLE_LENGTH - 1] + "…"
    return value
