"""Add when the first waiting step of a plan is due."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("sessions", sa.Column("wakes_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_sessions_wakes_at", "sessions", ["wakes_at"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_sessions_wakes_at", "sessions")
    op.drop_column("sessions", "wakes_at")
