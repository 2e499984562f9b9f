"""Add the subject of memories and of library entries.

Rows from before have none: nothing tells whom they are about, so no session recalls them. A rebuild gives a subject to
those whose events tell that they are about nobody.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    for table in ("memories", "library"):
        op.add_column(table, sa.Column("subject", sa.Text(), nullable=True))


def downgrade() -> None:
    for table in ("library", "memories"):
        op.drop_column(table, "subject")
