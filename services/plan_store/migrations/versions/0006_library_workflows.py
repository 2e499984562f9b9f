"""Add the workflow and the steps of library entries."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("library", sa.Column("workflow", sa.Text(), nullable=False, server_default="flow"))
    op.add_column("library", sa.Column("steps", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("library", "steps")
    op.drop_column("library", "workflow")
