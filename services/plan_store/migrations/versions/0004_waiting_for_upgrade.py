"""Sessions that a newer release has continued."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "waiting_for_upgrade",
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("needs", sa.BigInteger(), nullable=False),
        sa.Column("rules", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_waiting_for_upgrade"),
    )


def downgrade() -> None:
    op.drop_table("waiting_for_upgrade")
