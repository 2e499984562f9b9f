"""A person's statement for PostgreSQL inside a query of ours that keeps it to visible columns and rows of bounded size.

A table with hidden columns is covered by a query of the same name that has only the visible ones, so that neither `*`
nor a whole row nor a clever name can reach the others.

What is explained before it runs is the same text with the covers fenced under names that nobody can guess. In that
plan, what is hidden in part may be scanned beneath such a fence and nowhere else (`postgres_plan`): whatever our
scanner made of a text that reaches past its covers, PostgreSQL's own word refuses it.
"""

import secrets
from typing import NamedTuple

from sql.look import Look
from sql.outcome import Limits
from sql.postgres_errors import TOO_LARGE
from sql.postgres_guard import mentioned
from sql.postgres_names import PgNames, quoted

ROW = 500_000  # bytes of one row, at which the server stops, however few bytes a result may have


class Covered(NamedTuple):
    """A person's statement inside a query of ours."""

    text: str
    """What runs."""
    fenced: str
    """What is explained: the same, with every cover, and every view that reads what is hidden, behind a fence."""
    fences: dict[str, str]
    """The table or view behind each fence, by the fence's name."""


def covered(query: Look, names: PgNames, limits: Limits) -> Covered:
    """The person's statement under the covers of the tables with hidden columns, and with a bound for rows.

    A row that is too large makes the server fail: here, it would have been taken into memory before it is measured.
    It is measured as it is sent, too: the size of a row is that of its compressed values. OFFSET 0 is a fence:
    without it the bound, and with it all that is selected, would be reckoned beneath the query's joins, for rows that
    these leave out.
    """
    mark = f"p{secrets.token_hex(8)}"
    fences = {f"{mark}_{place}": name for place, name in enumerate(sorted(mentioned(query.tokens) & names.fenced))}
    covers, behind = [], []
    for fence, name in fences.items():
        columns = ", ".join(quoted(column) for column in names.visible[name])
        table = quoted(names.real[name])
        source = f"(SELECT {columns} FROM {quoted(names.schema)}.{table})"  # noqa: S608
        behind += [f"{fence} AS MATERIALIZED {source}", f"{table} AS NOT MATERIALIZED (SELECT * FROM {fence})"]  # noqa: S608
        if name in names.concealed:
            covers.append(f"{table} AS NOT MATERIALIZED {source}")
    packed = f"pg_catalog.pg_column_size({mark}.*)"
    sent = f"pg_catalog.octet_length(pg_catalog.record_send({mark}.*))"
    most = max(ROW, limits.bytes)
    bound = " ".join(f"WHEN {size} > {most} THEN {_failing(size)}" for size in (packed, sent))
    whole = f"SELECT whole.* FROM (\n{query.sql}\n) AS whole OFFSET 0"  # noqa: S608  its brackets match
    bounded = f"SELECT {mark}.* FROM ({whole}) AS {mark} WHERE CASE {bound} ELSE true END"  # noqa: S608
    return Covered(_under(covers) + bounded, _under(behind) + bounded, fences)


def _failing(size: str) -> str:
    """An error with the size in its words, as they are no number."""
    return f"('{TOO_LARGE} of ' || {size} || ' bytes')::pg_catalog.int4 = 0"


def _under(covers: list[str]) -> str:
    return f"WITH {', '.join(covers)} " if covers else ""
