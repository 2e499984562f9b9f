"""Several model calls an event: a row for each, by the event's version and its place there. A rebuild fills it."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    _make("version", "place")


def downgrade() -> None:
    _make("version")


def _make(*numbers: str) -> None:
    op.drop_table("usage")
    op.create_table(
        "usage",
        sa.Column("session_id", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=False) for name in numbers),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("latency", sa.Double(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.Column("action_id", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_usage_session_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("session_id", *numbers, name="pk_usage"),
    )
