"""Add which service answers a message beside the work of a session."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("reply_service", sa.Text(), nullable=True))
    op.add_column("sessions", sa.Column("reply_version", sa.BigInteger(), nullable=True))
    op.add_column("sessions", sa.Column("reply_since", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_sessions_reply_since", "sessions", ["reply_since"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_sessions_reply_since", "sessions")
    for column in ("reply_since", "reply_version", "reply_service"):
        op.drop_column("sessions", column)
