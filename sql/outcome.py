"""Outcomes of a statement: a result, or an error with a message and a kind."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

type ErrorKind = Literal[
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
    """A statement failed."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


class QueryRefused(SqlError):
    """The statement may not run."""


class QueryFailed(SqlError):
    """The statement was allowed, but the database could not answer it."""


class BadDatabase(Exception):
    """The database cannot be opened as configured; the text says what to do."""


class FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryLimits(FrozenModel):
    """Limits for one statement."""

    rows: int = 1000
    bytes: int = 128_000
    """Of all values together, as JSON."""
    seconds: float = 10.0
    length: int = 20_000
    """Of the statement, in characters."""


class QueryCheck(FrozenModel):
    """The check of a statement, which did not run."""

    ok: bool
    kind: ErrorKind | Literal[""] = ""
    error: str = ""
    tables: tuple[str, ...] = ()
    """The tables and views that it reads."""


class QueryResult(FrozenModel):
    """A result. `truncated`: there were more rows than the limits let through."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    truncated: bool
    seconds: float
