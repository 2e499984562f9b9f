"""Turns and actions as they are planned now, and what requests came to, with a full-text index.

PostgreSQL has its index in a column; SQLite in a table of its own, which triggers keep in step with the rows.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

COLUMNS: tuple[tuple[str, str, Any, Any], ...] = (  # the default is for rows that are there already
    ("turns", "sub_goals", sa.JSON(), "[]"),
    ("turns", "final", sa.Boolean(), sa.false()),
    ("turns", "recalled", sa.JSON(), "[]"),
    ("actions", "policy", sa.Text(), None),
    ("actions", "repairs", sa.JSON(), "[]"),
    ("actions", "ruling", sa.Text(), "proceed"),
    ("actions", "why", sa.Text(), ""),
    ("actions", "artefact", sa.JSON(), None),
)
NEW = "INSERT INTO memory_words (rowid, words) VALUES (new.position, new.words);"
OLD = "INSERT INTO memory_words (memory_words, rowid, words) VALUES ('delete', old.position, old.words);"
SQLITE = (
    "CREATE VIRTUAL TABLE memory_words USING fts5("
    "words, content='memories', content_rowid='position', tokenize='porter unicode61')",
    f"CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN {NEW} END",
    f"CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN {OLD} END",
    f"CREATE TRIGGER memories_updated AFTER UPDATE ON memories BEGIN {OLD} {NEW} END",
)
POSTGRESQL = (
    "ALTER TABLE memories ADD COLUMN vector tsvector GENERATED ALWAYS AS (to_tsvector('english', words)) STORED",
    "CREATE INDEX ix_memories_vector ON memories USING gin (vector)",
)


def upgrade() -> None:
    for table, name, kind, default in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=default is None, server_default=default))
    op.create_table(
        "memories",
        sa.Column(
            "position", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("lesson", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_memories_session_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("position", name="pk_memories"),
    )
    op.create_index("ix_memories_owner_memories_at", "memories", ["owner", "at"], unique=False)
    op.create_index("ix_memories_session_id_memories_position", "memories", ["session_id", "position"], unique=False)
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE memory_words")
    op.drop_table("memories")
    for table, name, _, _ in COLUMNS:
        op.drop_column(table, name)
