"""Column types that accept any value an event may have, on SQLite and PostgreSQL alike.

An event is foreign JSON: a value that the database refuses would block its session's projection for good.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Text
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.types import TypeDecorator

from shared.domain.storable import storable

MAX_INTEGER = 2**48  # a sum over thousands of such values still fits into 64 bits
MIN_TIME = datetime(1, 1, 2, tzinfo=UTC)
MAX_TIME = datetime(9999, 12, 30, tzinfo=UTC)


class SafeText(TypeDecorator[str]):
    """Text without NUL characters, which PostgreSQL cannot store."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else value.replace("\x00", "\ufffd")


class SafeJson(TypeDecorator[Any]):
    """JSON without NUL characters, of which PostgreSQL makes no text."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return storable(value)


class BoundedInteger(TypeDecorator[int]):
    """A whole number from 0 to 2^48; larger ones are stored as 2^48."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:
        return None if value is None else min(value, MAX_INTEGER)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as UTC (SQLite has no time zones). Times at the edge of the calendar are clamped."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        utc = min(max(value, MIN_TIME), MAX_TIME).astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        time: datetime = value
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
