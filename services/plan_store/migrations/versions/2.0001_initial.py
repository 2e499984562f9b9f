"""The first schema of the log's format 2, with a full-text index of memories.

PostgreSQL has the index in a column, SQLite in a separate table that triggers keep up to date.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "2.0001"
down_revision = None

TEXT, JSON, FLAG = sa.Text(), sa.JSON(), sa.Boolean()
COUNT, TIME = sa.BigInteger(), sa.DateTime(timezone=True)
NUMBER: sa.Double[float] = sa.Double()
ROWID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

NEW = "INSERT INTO memories_fts (rowid, search_words) VALUES (new.position, new.search_words);"
OLD = "INSERT INTO memories_fts (memories_fts, rowid, search_words) VALUES ('delete', old.position, old.search_words);"
SQLITE = (
    "CREATE VIRTUAL TABLE memories_fts USING fts5("
    "search_words, content='memories', content_rowid='position', tokenize='porter unicode61')",
    f"CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN {NEW} END",
    f"CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN {OLD} END",
    f"CREATE TRIGGER memories_updated AFTER UPDATE ON memories BEGIN {OLD} {NEW} END",
)
POSTGRESQL = (
    "ALTER TABLE memories ADD COLUMN search_vector tsvector "
    "GENERATED ALWAYS AS (to_tsvector('english', search_words)) STORED",
    "CREATE INDEX ix_memories_search_vector ON memories USING gin (search_vector)",
)


def _columns(kind: TypeEngine[Any], *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable, autoincrement=False) for name in names]


def _of_session(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=f"fk_{table}_session_id", ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "dead_letters",
        *_columns(TEXT, "stream", "consumer"),
        *_columns(COUNT, "stream_seq"),
        *_columns(TEXT, "reason", "session_id", "subject"),
        *_columns(TIME, "at"),
        sa.PrimaryKeyConstraint("stream", "consumer", "stream_seq", name="pk_dead_letters"),
    )
    op.create_index("ix_dead_letters_session_id", "dead_letters", ["session_id"], unique=False)

    op.create_table(
        "parked_messages",
        *_columns(COUNT, "position"),
        *_columns(TEXT, "session_id", "subject", "reason", "preview"),
        *_columns(TIME, "at"),
        sa.PrimaryKeyConstraint("position", name="pk_parked_messages"),
    )
    op.create_index("ix_parked_messages_session_id", "parked_messages", ["session_id"], unique=False)

    op.create_table(
        "sessions",
        *_columns(TEXT, "id"),
        *_columns(COUNT, "position", "version"),
        *_columns(TEXT, "snapshot_digest", "owner", "title", "request", "search_text", "workflow", "phase", "state"),
        *_columns(FLAG, "paused"),
        *_columns(TEXT, "rest_reason"),
        *_columns(FLAG, "unfinished"),
        *_columns(TEXT, "work_service", nullable=True),
        *_columns(COUNT, "work_version", nullable=True),
        *_columns(TIME, "work_since", nullable=True),
        *_columns(TEXT, "reply_service", nullable=True),
        *_columns(COUNT, "reply_version", nullable=True),
        *_columns(TIME, "reply_since", nullable=True),
        *_columns(TIME, "phase_began_at"),
        *_columns(TIME, "approval_expires_at", "wakes_at", nullable=True),
        *_columns(TEXT, "parent_id", nullable=True),
        *_columns(TIME, "created_at", "updated_at"),
        *_columns(JSON, "snapshot"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_approval_expires_at", "sessions", ["approval_expires_at"], unique=False)
    op.create_index("ix_sessions_owner_sessions_id", "sessions", ["owner", "id"], unique=False)
    op.create_index("ix_sessions_owner_sessions_updated_at", "sessions", ["owner", "updated_at"], unique=False)
    op.create_index("ix_sessions_parent_id", "sessions", ["parent_id"], unique=False)
    op.create_index("ix_sessions_reply_since", "sessions", ["reply_since"], unique=False)
    op.create_index("ix_sessions_updated_at", "sessions", ["updated_at"], unique=False)
    op.create_index("ix_sessions_wakes_at", "sessions", ["wakes_at"], unique=False)
    op.create_index("ix_sessions_work_since", "sessions", ["work_since"], unique=False)

    op.create_table(
        "forgotten",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "version"),
        *_columns(TIME, "at"),
        sa.PrimaryKeyConstraint("session_id", "version", name="pk_forgotten"),
    )

    op.create_table(
        "put_away",
        *_columns(TEXT, "stream", "consumer"),
        *_columns(COUNT, "stream_seq"),
        *_columns(TEXT, "by"),
        *_columns(TIME, "at"),
        sa.PrimaryKeyConstraint("stream", "consumer", "stream_seq", name="pk_put_away"),
    )

    op.create_table(
        "templates",
        *_columns(TEXT, "id"),
        *_columns(COUNT, "position", "version"),
        *_columns(TEXT, "owner"),
        *_columns(JSON, "body", nullable=True),
        *_columns(TIME, "next_run", nullable=True),
        *_columns(JSON, "last_run", nullable=True),
        *_columns(TIME, "at"),
        sa.PrimaryKeyConstraint("id", name="pk_templates"),
    )
    op.create_index("ix_templates_next_run", "templates", ["next_run"], unique=False)
    op.create_index("ix_templates_owner_templates_at", "templates", ["owner", "at"], unique=False)
    op.create_index("ix_templates_position", "templates", ["position"], unique=False)

    op.create_table(
        "tombstones",
        *_columns(TEXT, "session_id", "owner"),
        *_columns(TIME, "at"),
        *_columns(FLAG, "log_purged"),
        sa.PrimaryKeyConstraint("session_id", name="pk_tombstones"),
    )

    op.create_table(
        "waiting_for_upgrade",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "position", "needs"),
        *_columns(TIME, "at"),
        sa.PrimaryKeyConstraint("session_id", name="pk_waiting_for_upgrade"),
    )

    op.create_table(
        "code_versions",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "number", "version", "plan_version"),
        *_columns(TEXT, "code", "explanation", "status", "by"),
        *_columns(TIME, "at"),
        *_columns(TEXT, "hash"),
        *_columns(JSON, "checks"),
        *_columns(TEXT, "tests"),
        *_columns(COUNT, "repairs"),
        _of_session("code_versions"),
        sa.PrimaryKeyConstraint("session_id", "number", name="pk_code_versions"),
    )

    op.create_table(
        "journal",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "version", "position"),
        *_columns(TEXT, "type", "actor"),
        *_columns(TIME, "at"),
        *_columns(FLAG, "begins_round"),
        *_columns(JSON, "body"),
        _of_session("journal"),
        sa.PrimaryKeyConstraint("session_id", "version", name="pk_journal"),
    )
    op.create_index("ix_journal_position", "journal", ["position"], unique=False)

    op.create_table(
        "library",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "turn", "version", "position"),
        *_columns(TEXT, "request"),
        *_columns(JSON, "flows", "path"),
        *_columns(TEXT, "question", "sql"),
        *_columns(JSON, "tables"),
        *_columns(TEXT, "answer"),
        *_columns(FLAG, "saved"),
        *_columns(TEXT, "search_text", "search_words"),
        *_columns(TIME, "at"),
        *_columns(TEXT, "workflow"),
        *_columns(JSON, "steps"),
        *_columns(TEXT, "subject", nullable=True),
        _of_session("library"),
        sa.PrimaryKeyConstraint("session_id", "turn", name="pk_library"),
    )
    op.create_index("ix_library_position", "library", ["position"], unique=False)

    op.create_table(
        "memories",
        *_columns(ROWID, "position"),
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "version"),
        *_columns(TEXT, "owner", "request", "outcome", "lesson", "search_words"),
        *_columns(TIME, "at"),
        *_columns(TEXT, "subject", nullable=True),
        _of_session("memories"),
        sa.PrimaryKeyConstraint("position", name="pk_memories"),
    )
    op.create_index("ix_memories_owner_memories_at", "memories", ["owner", "at"], unique=False)
    op.create_index("ix_memories_session_id_memories_position", "memories", ["session_id", "position"], unique=False)

    op.create_table(
        "plans",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "number", "version"),
        *_columns(TEXT, "kind", "goal"),
        *_columns(JSON, "steps"),
        *_columns(TEXT, "notes", "status", "by"),
        *_columns(TIME, "at"),
        *_columns(TEXT, "hash"),
        *_columns(FLAG, "deleted"),
        *_columns(JSON, "path", nullable=True),
        _of_session("plans"),
        sa.PrimaryKeyConstraint("session_id", "number", name="pk_plans"),
    )
    listed = ["session_id", "number", "kind", "deleted", "status", "at"]
    op.create_index("ix_plans_listed", "plans", listed, unique=False)

    op.create_table(
        "proposals",
        *_columns(TEXT, "session_id", "flow", "name"),
        *_columns(COUNT, "version"),
        *_columns(TEXT, "description", "reason", "request"),
        *_columns(TIME, "at"),
        _of_session("proposals"),
        sa.PrimaryKeyConstraint("session_id", "flow", "name", name="pk_proposals"),
    )

    op.create_table(
        "shares",
        *_columns(TEXT, "session_id", "user"),
        *_columns(TEXT, "role", nullable=True),
        _of_session("shares"),
        sa.PrimaryKeyConstraint("session_id", "user", name="pk_shares"),
    )
    op.create_index("ix_shares_user", "shares", ["user"], unique=False)

    op.create_table(
        "usage",
        *_columns(TEXT, "session_id"),
        *_columns(COUNT, "version", "ordinal"),
        *_columns(TEXT, "model", "role"),
        *_columns(COUNT, "prompt_tokens", "cached_tokens", "completion_tokens"),
        *_columns(NUMBER, "cost", "latency"),
        *_columns(COUNT, "attempt"),
        *_columns(TEXT, "outcome"),
        *_columns(FLAG, "estimated"),
        *_columns(TEXT, "action_id"),
        *_columns(TIME, "at"),
        _of_session("usage"),
        sa.PrimaryKeyConstraint("session_id", "version", "ordinal", name="pk_usage"),
    )

    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


OF_SESSIONS = ("journal", "plans", "code_versions", "usage", "shares", "memories", "library", "proposals")
OTHERS = ("parked_messages", "waiting_for_upgrade", "dead_letters", "tombstones", "forgotten", "put_away", "templates")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE memories_fts")
    for table in (*OF_SESSIONS, "sessions", *OTHERS):
        op.drop_table(table)
