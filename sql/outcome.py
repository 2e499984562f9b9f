"""What comes of a statement: rows, or why there are none, in words and as a kind that programs can go by."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

type Kind = Literal[
    "empty",
    "too_long",
    "syntax",
    "several_statements",
    "not_a_query",
    "writes",
    "ddl",
    "administration",
    "function",
    "table",
    "column",
    "hidden",
    "locks",
    "timeout",
    "too_large",
    "database",
    "unavailable",
]


class SqlError(Exception):
    """A statement without a result."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class Refused(SqlError):
    """It may not run, whatever the data are."""


class QueryFailed(SqlError):
    """It was allowed, and the database could not answer it."""


class BadDatabase(Exception):
    """The database cannot be opened as configured; the text says what to do."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Frozen):
    """How much one statement may ask for."""

    rows: int = 1000
    bytes: int = 128_000
    """Of all values together, as JSON."""
    seconds: float = 10.0
    length: int = 20_000
    """Of the statement, in characters."""


class Checked(_Frozen):
    """A statement that was looked at and did not run."""

    ok: bool
    kind: Kind | Literal[""] = ""
    error: str = ""
    tables: tuple[str, ...] = ()
    """The tables and views it reads."""


class Table(_Frozen):
    """A result. `truncated`: there were more rows than the limits let through."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    truncated: bool
    seconds: float
