"""Column types that take whatever an event may hold, on SQLite and PostgreSQL alike.

An event is anybody's JSON: a value that a database refuses would stop its session's projection for ever.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Text
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.types import TypeDecorator

BIGGEST = 2**48  # a sum over thousands of such values still fits into 64 bits
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


class Words(TypeDecorator[str]):
    """Text without NUL characters, which PostgreSQL cannot store."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else value.replace("\x00", "\ufffd")


class Count(TypeDecorator[int]):
    """A whole number of 0 to 2^48; larger ones are stored as that."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        return None if value is None else min(value, BIGGEST)


class Utc(TypeDecorator[datetime]):
    """An aware time, stored as UTC (SQLite keeps no zone). Times at the edge of the calendar are moved inside."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        utc = min(max(value, EARLIEST), LATEST).astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        found: datetime = value
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
