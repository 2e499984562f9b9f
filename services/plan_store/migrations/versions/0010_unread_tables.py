"""Drop the rows of turns, actions and answers, which nobody reads: the log has them, and a purge would leave some."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    for table in ("turns", "actions", "answers"):
        op.drop_table(table, if_exists=True)


def downgrade() -> None:
    """An older release that still wrote these tables was never published."""
