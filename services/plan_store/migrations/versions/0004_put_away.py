"""Add the messages that users have dismissed, and the memories that they have deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TEXT, COUNT, TIME = sa.Text(), sa.BigInteger(), sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "put_away",
        sa.Column("stream", TEXT, nullable=False),
        sa.Column("consumer", TEXT, nullable=False),
        sa.Column("stream_seq", COUNT, nullable=False, autoincrement=False),
        sa.Column("by", TEXT, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("stream", "consumer", "stream_seq", name="pk_put_away"),
    )
    op.create_table(
        "forgotten",
        sa.Column("session_id", TEXT, nullable=False),
        sa.Column("version", COUNT, nullable=False, autoincrement=False),
        sa.Column("at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "version", name="pk_forgotten"),
    )


def downgrade() -> None:
    op.drop_table("forgotten")
    op.drop_table("put_away")
