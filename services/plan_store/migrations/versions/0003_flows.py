"""Paths through flows, what each of their nodes cost, the library of accepted answers, and nodes that are missed."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

COLUMNS: tuple[tuple[str, str, Any, Any], ...] = (  # the default is for rows that are there already
    ("plans", "path", sa.JSON(), None),
    ("turns", "path", sa.JSON(), None),
    ("actions", "tokens", sa.BigInteger(), "0"),
    ("usage", "action_id", sa.Text(), ""),
    ("journal", "begins", sa.Boolean(), sa.false()),
)

# Which events of the journal began a request; as text, because PostgreSQL reads no JSON with NUL characters in it.
BEGINS = """
UPDATE journal SET begins = true
WHERE (type = 'message.received' AND CAST(body AS TEXT) LIKE '%"intent":"request"%')
   OR (type = 'question.answered' AND CAST(body AS TEXT) LIKE '%"action_id":"continue-%')
"""


def _of_session(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=f"fk_{table}_session_id", ondelete="CASCADE")


def upgrade() -> None:
    for table, name, kind, default in COLUMNS:
        op.add_column(table, sa.Column(name, kind, nullable=default is None, server_default=default))
    op.get_bind().exec_driver_sql(BEGINS)
    op.create_table(
        "library",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("turn", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("flows", sa.JSON(), nullable=False),
        sa.Column("path", sa.JSON(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("sql", sa.Text(), nullable=False),
        sa.Column("tables", sa.JSON(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("saved", sa.Boolean(), nullable=False),
        sa.Column("search", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        _of_session("library"),
        sa.PrimaryKeyConstraint("session_id", "turn", name="pk_library"),
    )
    op.create_index("ix_library_position", "library", ["position"], unique=False)
    op.create_table(
        "proposals",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("flow", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        _of_session("proposals"),
        sa.PrimaryKeyConstraint("session_id", "flow", "name", name="pk_proposals"),
    )


def downgrade() -> None:
    op.drop_table("proposals")
    op.drop_table("library")
    for table, name, _, _ in COLUMNS:
        op.drop_column(table, name)
