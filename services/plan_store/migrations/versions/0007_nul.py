"""Replace NUL characters in the journal, in plans and in snapshots: PostgreSQL makes no text of JSON that has one."""

from alembic import op

revision = "0007"
down_revision = "0006"

NUL, MARK = r"(?<!\\)((?:\\\\)*)\\u0000", r"\1\ufffd"  # not the text "\\u0000", whose backslash is escaped


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, column in (("journal", "body"), ("plans", "steps"), ("sessions", "snapshot")):
        op.execute(
            f"UPDATE {table} SET {column} = regexp_replace({column}::text, '{NUL}', '{MARK}', 'g')::json"  # noqa: S608
            f" WHERE {column}::text ~ '{NUL}'"
        )


def downgrade() -> None:
    pass
