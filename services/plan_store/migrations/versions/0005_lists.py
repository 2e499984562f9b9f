"""Add columns for lists of sessions, and indexes for lists of plans.

An older release does not fill these columns: rows that it writes keep the old values until the session's next event.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

sessions = sa.table(
    "sessions",
    sa.column("phase", sa.Text()),
    sa.column("rest_reason", sa.Text()),
    sa.column("paused", sa.Boolean()),
    sa.column("unfinished", sa.Boolean()),
    sa.column("snapshot", sa.JSON()),
)


def upgrade() -> None:
    op.add_column("sessions", sa.Column("rest_reason", sa.Text(), nullable=False, server_default=""))
    op.add_column("sessions", sa.Column("unfinished", sa.Boolean(), nullable=False, server_default=sa.false()))
    reason = sessions.c.snapshot["rest_reason"].as_string()
    op.execute(sessions.update().values(rest_reason=sa.func.coalesce(reason, "")))
    op.execute(sessions.update().where(_held_up()).values(unfinished=True))
    op.create_index("ix_sessions_owner_sessions_id", "sessions", ["owner", "id"])
    op.create_index("ix_plans_listed", "plans", ["session_id", "number", "kind", "deleted", "status", "at"])


def _held_up() -> sa.ColumnElement[bool]:
    """The domain's `is_unfinished` as SQL on the row's snapshot."""

    def text(*path: str) -> sa.ColumnElement[str]:
        value: sa.ColumnElement[str] = sessions.c.snapshot[path].as_string()
        return value

    rests = sa.and_(
        sessions.c.phase == "resting",
        sessions.c.rest_reason != "completed",
        sessions.c.snapshot[("turn", "rules", "by_step")].as_boolean(),
        text("plan", "status").in_(("executing", "failed")),
    )
    redrafted = sa.and_(sessions.c.phase.in_(("planning", "awaiting_input")), text("turn", "number").is_(None))
    paused = sa.and_(sessions.c.paused, text("plan", "status") == "executing", ~redrafted)
    return sa.and_(text("plan", "task") != "", text("plan", "task") == text("task"), sa.or_(rests, paused))


def downgrade() -> None:
    op.drop_index("ix_plans_listed", "plans")
    op.drop_index("ix_sessions_owner_sessions_id", "sessions")
    for column in ("unfinished", "rest_reason"):
        op.drop_column("sessions", column)
