"""Which of a PostgreSQL schema's tables, columns and functions there are, and which of them may be used."""

from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from sql.hidden import Hidden

# Volatile, and yet without any effect on others.
_HARMLESS = (
    "bernoulli",
    "clock_timestamp",
    "gen_random_uuid",
    "random",
    "random_normal",
    "system",
    "timeofday",
    "uuidv4",
    "uuidv7",
)
# Not volatile, and yet they reach beyond the data that were approved: settings, files, other sessions, catalogs,
# statements given as text.
_REACHING = (
    "pg_*",
    "lo_*",
    "loread",
    "lowrite",
    "dblink*",
    "*_to_xml*",
    "txid_*",
    "inet_client_*",
    "inet_server_*",
    "has_*_privilege",
    "to_reg*",
    "currtid*",
    "*_description",
    "current_setting",
    "set_config",
    "ts_stat",
    "ts_rewrite",
    "ts_debug",
    "ts_parse",
    "ts_token_type",
    "row_security_active",
    "binary_upgrade_*",
    "crosstab*",
    "connectby*",
    "xpath_table",
)
_ALLOWED = ("pg_typeof", "pg_column_size", "pg_size_pretty")

FINGERPRINT = """
SELECT coalesce(sum(hashtextextended(
    concat_ws(' ', c.oid, c.relname, c.relkind, a.attnum, a.attname, a.attisdropped), 0)), 0)::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
"""
_TABLES = """
SELECT c.relname AS name, c.relkind IN ('v', 'm') AS view,
    has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT') AS readable,
    c.relispartition AS part, EXISTS (SELECT FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') AS foreign_made,
    array(SELECT a.attname::text FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
        AND NOT a.attisdropped ORDER BY a.attnum) AS columns
FROM pg_catalog.pg_class c WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
"""
_BENEATH = """
SELECT DISTINCT v.relname AS view, n.nspname AS schema, t.relname AS name, a.attname AS column
FROM pg_catalog.pg_rewrite r
JOIN pg_catalog.pg_class v ON v.oid = r.ev_class AND v.relnamespace = $1::text::regnamespace AND v.relkind IN ('v', 'm')
JOIN pg_catalog.pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> v.oid
JOIN pg_catalog.pg_class t ON t.oid = d.refobjid JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
"""
_PARTS = """
SELECT p.relname AS parent, n.nspname AS schema, c.relname AS name
FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class p ON p.oid = i.inhparent
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE p.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p', 'f')
"""
# Of the functions that are not PostgreSQL's own: those of extensions that only reckon, and namesakes that only read.
_FUNCTIONS = """
WITH f AS (
    SELECT p.proname, n.nspname = 'pg_catalog' AS own, p.provolatile, l.lanname IN ('c', 'internal') AND EXISTS (
        SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        AND d.deptype = 'e') AND p.provolatile = 'i' AS reckons
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    WHERE n.nspname = 'pg_catalog' OR p.pronamespace = $1::text::regnamespace)
SELECT proname AS name, bool_or(own AND provolatile = 'v') AS volatile,
    bool_or(NOT own AND provolatile = 'v') OR NOT (bool_or(own) OR bool_and(reckons)) AS foreign_made
FROM f GROUP BY proname
"""


@dataclass(frozen=True)
class PgNames:
    """Keys in lower case, as the looks compare; names as they are spelt in the database."""

    schema: str
    fingerprint: str
    real: dict[str, str] = field(default_factory=dict)
    listed: frozenset[str] = frozenset()
    shut: frozenset[str] = frozenset()
    visible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    concealed: dict[str, frozenset[str]] = field(default_factory=dict)
    beneath: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """(schema, table) of all that a view, or a table with parts, reads for it."""
    unusable: frozenset[str] = frozenset()
    """Functions that may not be called."""


async def read_pg_names(connection: Any, schema: str, hidden: Hidden) -> PgNames:
    """As they are now."""
    fingerprint = await connection.fetchval(FINGERPRINT, quoted(schema))
    tables = await connection.fetch(_TABLES, quoted(schema))
    below = await connection.fetch(_BENEATH, quoted(schema))
    parts = await connection.fetch(_PARTS, quoted(schema))
    columns = {row["name"]: row["columns"] for row in tables}
    shut = {name for name in columns if hidden.table(name)}
    shut |= _views_of_hidden(shut, below, hidden)
    shut |= _confusable(columns, shut, hidden)
    listed = {
        row["name"]
        for row in tables
        if row["readable"] and not row["part"] and not row["foreign_made"] and hidden.listed(row["name"])
    } - shut
    concealed = {
        name.lower(): closed
        for name, own in columns.items()
        if (closed := frozenset(one for one in own if hidden.column(name, one)))
    }
    return PgNames(
        schema=schema,
        fingerprint=fingerprint,
        real={name.lower(): name for name in columns},
        listed=frozenset(name.lower() for name in listed),
        shut=frozenset(name.lower() for name in shut),
        visible={name.lower(): tuple(c for c in columns[name] if not hidden.column(name, c)) for name in listed},
        concealed=concealed,
        beneath=_closure([*((r["view"], r["schema"], r["name"]) for r in below), *(tuple(r) for r in parts)], schema),
        unusable=await _unusable(connection, schema),
    )


async def _unusable(connection: Any, schema: str) -> frozenset[str]:
    rows = await connection.fetch(_FUNCTIONS, quoted(schema))
    return frozenset(
        row["name"].lower()
        for row in rows
        if row["foreign_made"] or (row["volatile"] and row["name"] not in _HARMLESS) or _reaches(row["name"])
    )


def _reaches(name: str) -> bool:
    return name not in _ALLOWED and any(fnmatchcase(name, pattern) for pattern in _REACHING)


def _views_of_hidden(shut: set[str], below: list[Any], hidden: Hidden) -> set[str]:
    """All views that read, through whatever others, a hidden table or column: a view runs with its owner's rights."""
    found: set[str] = set()
    while True:
        more = {
            row["view"]
            for row in below
            if row["name"] in shut | found or (row["column"] and hidden.column(row["name"], row["column"]))
        } - found
        if not more:
            return found
        found |= more


def _confusable(columns: dict[str, list[str]], shut: set[str], hidden: Hidden) -> set[str]:
    """Tables whose names differ in case alone, with something hidden in one: the looks could take it for another."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in columns:
        alike[name.lower()].append(name)
    return {
        one
        for names in alike.values()
        if len(names) > 1
        and any(name in shut or any(hidden.column(name, column) for column in columns[name]) for name in names)
        for one in names
    }


def _closure(edges: list[tuple[str, str, str]], schema: str) -> dict[str, frozenset[tuple[str, str]]]:
    direct: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for above, where, name in edges:
        direct[above].add((where, name))
    answer = {}
    for above, first in direct.items():
        seen: set[tuple[str, str]] = set()
        ahead = list(first)
        while ahead:
            one = ahead.pop()
            if one not in seen:
                seen.add(one)
                ahead += direct.get(one[1], ()) if one[0] == schema else ()
        answer[above.lower()] = frozenset(seen)
    return answer


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
