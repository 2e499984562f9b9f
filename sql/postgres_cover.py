"""Wraps the user's PostgreSQL query so that it reads only visible columns, and rows of limited size.

A CTE of the same name shadows ("covers") each table with hidden columns and has only the visible ones. So neither `*`
nor a whole-row reference nor a clever name can reach the others.

Before the query runs, EXPLAIN gets the same text with each cover behind a fence: a materialized CTE with a random name.
In the plan, a table with hidden columns may be scanned only below its fence (`postgres_plan`). So PostgreSQL itself
exposes a query that bypasses its covers, even if the scanner here misread the text.
"""

import secrets
from typing import NamedTuple

from sql.outcome import QueryLimits
from sql.postgres_errors import TOO_LARGE
from sql.postgres_guard import mentioned
from sql.postgres_names import PgNames
from sql.query_parser import ParsedQuery
from sql.spelling import quoted

MAX_ROW = 500_000  # bytes of one row at which the server stops, even if the result limit is lower


class CoveredQuery(NamedTuple):
    """The user's query in its wrapper."""

    text: str
    """The SQL that runs."""
    fenced: str
    """The SQL for EXPLAIN: the same, with fences for covers and for views that read hidden columns."""
    fences: dict[str, str]
    """The table or view behind each fence, by the fence's name."""


def cover(query: ParsedQuery, names: PgNames, limits: QueryLimits) -> CoveredQuery:
    """The user's query with covers for the tables with hidden columns, and a size limit for rows.

    The server raises an error for a row that is too large, because measuring it here would need it in memory first. It
    checks the stored size, which counts compressed values, and the size as sent. OFFSET 0 is an optimization barrier:
    without it PostgreSQL could evaluate the limit, and the selected expressions, for rows that joins drop.
    """
    mark = f"p{secrets.token_hex(8)}"
    fences = {f"{mark}_{place}": name for place, name in enumerate(sorted(mentioned(query.tokens) & names.fenced))}
    covers, behind = [], []
    for fence, name in fences.items():
        columns = ", ".join(quoted(column) for column in names.visible[name])
        table = quoted(names.spelling[name])
        source = f"(SELECT {columns} FROM {quoted(names.schema)}.{table})"  # noqa: S608
        behind += [f"{fence} AS MATERIALIZED {source}", f"{table} AS NOT MATERIALIZED (SELECT * FROM {fence})"]  # noqa: S608
        if name in names.hidden_columns:
            covers.append(f"{table} AS NOT MATERIALIZED {source}")
    packed = f"pg_catalog.pg_column_size({mark}.*)"
    sent = f"pg_catalog.octet_length(pg_catalog.record_send({mark}.*))"
    most = max(MAX_ROW, limits.bytes)
    bound = " ".join(f"WHEN {size} > {most} THEN {_failing(size)}" for size in (packed, sent))
    whole = f"SELECT whole.* FROM (\n{query.sql}\n) AS whole OFFSET 0"  # noqa: S608  its brackets match
    bounded_query = f"SELECT {mark}.* FROM ({whole}) AS {mark} WHERE CASE {bound} ELSE true END"  # noqa: S608
    return CoveredQuery(_under(covers) + bounded_query, _under(behind) + bounded_query, fences)


def _failing(size: str) -> str:
    """An expression that fails with the size in its error message: a cast of text to a number."""
    return f"('{TOO_LARGE} of ' || {size} || ' bytes')::pg_catalog.int4 = 0"


def _under(covers: list[str]) -> str:
    return f"WITH {', '.join(covers)} " if covers else ""
