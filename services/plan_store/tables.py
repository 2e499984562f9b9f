"""The tables. Those in `PROJECTED` can be rebuilt from the log at any time; a rebuild keeps the others."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.types import TypeDecorator

from shared.domain.kernel.storable import storable

MAX_INTEGER = 2**48  # a sum over thousands of such values still fits into 64 bits
MIN_TIME = datetime(1, 1, 2, tzinfo=UTC)
MAX_TIME = datetime(9999, 12, 30, tzinfo=UTC)
NAMES = {"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s", "ix": "ix_%(column_0_N_label)s"}
METADATA = MetaData(naming_convention=NAMES)


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


def _session_id() -> Column[str]:
    return Column("session_id", SafeText, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)


sessions = Table(
    "sessions",
    METADATA,
    Column("id", SafeText, primary_key=True),
    Column("position", BoundedInteger, nullable=False),  # stream sequence of the last message folded, readable or not
    Column("version", BoundedInteger, nullable=False),  # 0: none of its messages is an event
    Column("snapshot_digest", SafeText, nullable=False),  # must match that of a cached session
    Column("owner", SafeText, nullable=False),
    Column("title", SafeText, nullable=False),
    Column("request", SafeText, nullable=False),
    Column("search_text", SafeText, nullable=False),  # messages and plan, case folded
    Column("workflow", SafeText, nullable=False),
    Column("phase", SafeText, nullable=False),
    Column("state", SafeText, nullable=False),  # the phase as clients name it
    Column("paused", Boolean, nullable=False),
    Column("rest_reason", SafeText, nullable=False),  # the last one, also while the session is not resting
    Column("unfinished", Boolean, nullable=False),  # its plan of steps is not completed
    Column("work_service", SafeText),
    Column("work_version", BoundedInteger),
    Column("work_since", UtcDateTime),
    Column("reply_service", SafeText),  # answers a message beside the work
    Column("reply_version", BoundedInteger),
    Column("reply_since", UtcDateTime),
    Column("phase_began_at", UtcDateTime, nullable=False),  # or when what is now in review was put there
    Column("approval_expires_at", UtcDateTime),
    Column("wakes_at", UtcDateTime),
    Column("parent_id", SafeText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("snapshot", SafeJson, nullable=False),  # the session, folded up to `position`
    Index(None, "owner", "updated_at"),
    Index(None, "owner", "id"),  # finds a plan's owner without reading this table's long rows
    Index(None, "updated_at"),
    Index(None, "parent_id"),
    Index(None, "work_since"),
    Index(None, "reply_since"),
    Index(None, "approval_expires_at"),
    Index(None, "wakes_at"),
)

_columns = sessions.c
WORKS = (  # what services are due for: which one, the version of the event that made it due, and since when
    (_columns.work_service, _columns.work_version, _columns.work_since),
    (_columns.reply_service, _columns.reply_version, _columns.reply_since),
)

journal = Table(
    "journal",
    METADATA,
    _session_id(),
    Column("version", BoundedInteger, primary_key=True, autoincrement=False),
    Column("position", BoundedInteger, nullable=False),
    Column("type", SafeText, nullable=False),
    Column("actor", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("begins_round", Boolean, nullable=False),
    Column("body", SafeJson, nullable=False),
    Index(None, "position"),
)

plans = Table(
    "plans",
    METADATA,
    _session_id(),
    Column("number", BoundedInteger, primary_key=True, autoincrement=False),
    Column("version", BoundedInteger, nullable=False),
    Column("kind", SafeText, nullable=False),
    Column("goal", SafeText, nullable=False),
    Column("steps", SafeJson, nullable=False),
    Column("notes", SafeText, nullable=False),
    Column("status", SafeText, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("hash", SafeText, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("path", JSON),  # through flows, as planned; NULL: it is not a path
    Index(
        "ix_plans_listed", "session_id", "number", "kind", "deleted", "status", "at"
    ),  # every column that a list filters and sorts by
)

code_versions = Table(
    "code_versions",
    METADATA,
    _session_id(),
    Column("number", BoundedInteger, primary_key=True, autoincrement=False),
    Column("version", BoundedInteger, nullable=False),
    Column("plan_version", BoundedInteger, nullable=False),
    Column("code", SafeText, nullable=False),
    Column("explanation", SafeText, nullable=False),
    Column("status", SafeText, nullable=False),
    Column("by", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("hash", SafeText, nullable=False),
    Column("checks", JSON, nullable=False),
    Column("tests", SafeText, nullable=False),
    Column("repairs", BoundedInteger, nullable=False),
)

usage = Table(
    "usage",
    METADATA,
    _session_id(),
    Column("version", BoundedInteger, primary_key=True, autoincrement=False),  # of the event that accounts for the call
    Column("ordinal", BoundedInteger, primary_key=True, autoincrement=False),  # among that event's calls: 1, 2, 3
    Column("model", SafeText, nullable=False),
    Column("role", SafeText, nullable=False),
    Column("prompt_tokens", BoundedInteger, nullable=False),
    Column("cached_tokens", BoundedInteger, nullable=False),
    Column("completion_tokens", BoundedInteger, nullable=False),
    Column("cost", Double, nullable=False),
    Column("latency", Double, nullable=False),
    Column("attempt", BoundedInteger, nullable=False),
    Column("outcome", SafeText, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("action_id", SafeText, nullable=False),  # "": the call was not made for an action
    Column("at", UtcDateTime, nullable=False),
)

shares = Table(
    "shares",
    METADATA,
    _session_id(),
    Column("user", SafeText, primary_key=True),
    Column("role", SafeText),
    Index(None, "user"),
)

# The outcome of each request, for later sessions; `outcome` is empty until there is one. `position` is that of the
# message that began the request: an integer key, as SQLite's full-text index needs a stable rowid.
memories = Table(
    "memories",
    METADATA,
    Column(
        "position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, nullable=False, autoincrement=False
    ),
    Column("session_id", SafeText, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("version", BoundedInteger, nullable=False),  # of the event that began it
    Column("owner", SafeText, nullable=False),
    Column("request", SafeText, nullable=False),
    Column("outcome", SafeText, nullable=False),
    Column("lesson", SafeText, nullable=False),  # its last unfavourable verdict
    Column("search_words", SafeText, nullable=False),  # of all three, as the full-text index has them
    Column("at", UtcDateTime, nullable=False),
    Column("subject", SafeText),  # who may recall it: "": any session, NULL: none, else sessions about this subject
    Index(None, "session_id", "position"),
    Index(None, "owner", "at"),
)

# Accepted answers, one per request: `turn` counts the session's turns (for a program: the plan's version, negated).
library = Table(
    "library",
    METADATA,
    _session_id(),
    Column("turn", BoundedInteger, primary_key=True, autoincrement=False),
    Column("version", BoundedInteger, nullable=False),
    Column("position", BoundedInteger, nullable=False),  # of the judgement, as `version`; lists are ordered by it
    Column("request", SafeText, nullable=False),
    Column("flows", JSON, nullable=False),
    Column("path", JSON, nullable=False),  # the nodes that ran, in order
    Column("question", SafeText, nullable=False),
    Column("sql", SafeText, nullable=False),
    Column("tables", JSON, nullable=False),
    Column("answer", SafeText, nullable=False),
    Column("saved", Boolean, nullable=False),
    Column("search_text", SafeText, nullable=False),  # request, question and SQL, case folded
    Column("search_words", SafeText, nullable=False),  # of request and question, for similarity
    Column("at", UtcDateTime, nullable=False),
    Column("workflow", SafeText, nullable=False),
    Column("steps", JSON, nullable=False),  # of the plan, or the calls of the turn
    Column("subject", SafeText),  # as in `memories`
    Index(None, "position"),
)

# Nodes that planners propose for flows, for a user to review.
proposals = Table(
    "proposals",
    METADATA,
    _session_id(),
    Column("flow", SafeText, primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("version", BoundedInteger, nullable=False),
    Column("description", SafeText, nullable=False),
    Column("reason", SafeText, nullable=False),
    Column("request", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

# Quarantined messages: on a session's subjects, but not its events. The session may not exist: no foreign key.
parked_messages = Table(
    "parked_messages",
    METADATA,
    Column("position", BoundedInteger, primary_key=True, autoincrement=False),
    Column("session_id", SafeText, nullable=False),
    Column("subject", SafeText, nullable=False),
    Column("reason", SafeText, nullable=False),
    Column("preview", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "session_id"),
)

# Sessions continued by a newer release. A release that supports `needs` projects them up to `position`.
waiting_for_upgrade = Table(
    "waiting_for_upgrade",
    METADATA,
    Column("session_id", SafeText, primary_key=True),
    Column("position", BoundedInteger, nullable=False),
    Column("needs", BoundedInteger, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

PROJECTED = tuple(METADATA.sorted_tables)  # all of the above, in the order of their foreign keys

# Deliveries that a consumer gave up, from the broker's advisories.
dead_letters = Table(
    "dead_letters",
    METADATA,
    Column("stream", SafeText, primary_key=True),
    Column("consumer", SafeText, primary_key=True),
    Column("stream_seq", BoundedInteger, primary_key=True, autoincrement=False),
    Column("reason", SafeText, nullable=False),
    Column("session_id", SafeText, nullable=False),
    Column("subject", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "session_id"),
)

# Purged sessions: their ids are never used again.
tombstones = Table(
    "tombstones",
    METADATA,
    Column("session_id", SafeText, primary_key=True),
    Column("owner", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("log_purged", Boolean, nullable=False),  # known to be deleted from the log
)

# Dismissed quarantined messages (consumer "") and dismissed dead letters.
put_away = Table(
    "put_away",
    METADATA,
    Column("stream", SafeText, primary_key=True),
    Column("consumer", SafeText, primary_key=True),
    Column("stream_seq", BoundedInteger, primary_key=True, autoincrement=False),
    Column("by", SafeText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

# Memories that their owner has deleted, by the version that began the request.
forgotten = Table(
    "forgotten",
    METADATA,
    Column("session_id", SafeText, primary_key=True),
    Column("version", BoundedInteger, primary_key=True, autoincrement=False),
    Column("at", UtcDateTime, nullable=False),
)
