"""Add plan templates, projected from the library's log."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "templates",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON()),
        sa.Column("next_run", sa.DateTime(timezone=True)),
        sa.Column("last_run", sa.JSON()),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_templates"),
    )
    op.create_index("ix_templates_owner_templates_at", "templates", ["owner", "at"], unique=False)
    op.create_index("ix_templates_next_run", "templates", ["next_run"], unique=False)
    op.create_index("ix_templates_position", "templates", ["position"], unique=False)


def downgrade() -> None:
    op.drop_table("templates")
