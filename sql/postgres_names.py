"""Which of a PostgreSQL schema's tables, columns and functions there are, and which of them may be used."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from sql.hidden import Hidden
from sql.postgres_catalogs import BENEATH, FUNCTIONS, GENERATED, PARTS, TABLES

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
    "acl*",
    "format_type",
    "makeaclitem",
    "oidvectortypes",
)
_OF_EXTENSIONS = [
    "gen_random_bytes",
    "gen_salt",
    "unaccent",
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
]
_ALLOWED = ("pg_typeof", "pg_column_size", "pg_size_pretty")


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
    fenced: frozenset[str] = frozenset()
    """Tables with hidden columns, and what reads, for whoever asks, more than may be asked for."""
    unusable: frozenset[str] = frozenset()
    """Functions that may not be called."""
    open: bool = False
    """Nothing is hidden, so that the role's own rights decide."""

    @property
    def kept_back(self) -> frozenset[tuple[str, str]]:
        """(schema, table) of those with hidden columns."""
        return frozenset((self.schema, self.real[name]) for name in self.concealed)

    def may_scan(self, place: tuple[str, str]) -> bool:
        """Whether all of this (schema, table) may be read."""
        schema, name = place
        return self.open_to(schema) or (
            schema == self.schema and name.lower() in self.listed and name.lower() not in self.concealed
        )

    def open_to(self, schema: str) -> bool:
        """Whether tables of this other schema may be read, too."""
        return self.open and schema != self.schema and not schema.startswith("pg_") and schema != "information_schema"


async def read_pg_names(connection: Any, schema: str, fingerprint: str, hidden: Hidden) -> PgNames:
    """As they are now, and as long as the fingerprint stays."""
    tables = await connection.fetch(TABLES, quoted(schema))
    below = await connection.fetch(BENEATH, quoted(schema))
    parts = await connection.fetch(PARTS, quoted(schema))
    columns = {row["name"]: row["columns"] for row in tables}
    under = _closure([tuple(row) for row in parts], schema)
    generated = await connection.fetch(GENERATED, quoted(schema))
    closed = _closed(columns, under, generated, hidden)
    shut = {name for name in columns if hidden.table(name)}
    shut |= _views_of_hidden(shut, below, closed, hidden)
    shut |= _confusable(columns, shut, closed)
    kept_back = {name for above, below in under.items() if not hidden.listed(above) for _, name in below}
    kept_back |= closed.keys()
    listed = {
        row["name"]
        for row in tables
        if row["readable"]
        and not row["foreign_made"]
        and hidden.listed(row["name"])
        and not (row["part"] and row["name"] in kept_back)
    } - shut
    whole = {row["name"] for row in tables if not row["part"]} & listed
    views = {row["name"].lower() for row in tables if row["view"]}
    names = PgNames(
        schema=schema,
        fingerprint=fingerprint,
        real={name.lower(): name for name in columns},
        listed=frozenset(name.lower() for name in listed),
        shut=frozenset(name.lower() for name in shut),
        visible={name.lower(): tuple(c for c in columns[name] if c not in closed.get(name, ())) for name in whole},
        concealed={name.lower(): own for name, own in closed.items()},
        beneath=_closure([*((r["view"], r["schema"], r["name"]) for r in below), *(tuple(r) for r in parts)], schema),
        unusable=await _unusable(connection, schema),
        open=not hidden.names and not hidden.only,
    )
    return replace(names, fenced=_fenced(names, views))


def _fenced(names: PgNames, views: set[str]) -> frozenset[str]:
    """Where nothing is hidden, nothing. A table is read with its parts, of which some may not be listed."""

    def reads_more(name: str) -> bool:
        below = names.beneath.get(name, frozenset())
        return not below.isdisjoint(names.kept_back) or (
            name in views and not all(names.may_scan(place) for place in below)
        )

    visible = names.visible.keys() & names.listed
    return frozenset() if names.open else frozenset(n for n in visible if n in names.concealed or reads_more(n))


async def _unusable(connection: Any, schema: str) -> frozenset[str]:
    rows = await connection.fetch(FUNCTIONS, quoted(schema), _OF_EXTENSIONS)
    return frozenset(
        row["name"].lower()
        for row in rows
        if row["foreign_made"] or (row["volatile"] and row["name"] not in _HARMLESS) or reaches(row["name"])
    )


def reaches(name: str) -> bool:
    return name not in _ALLOWED and any(fnmatchcase(name, pattern) for pattern in _REACHING)


def _closed(
    columns: dict[str, list[str]], under: Any, generated: list[Any], hidden: Hidden
) -> dict[str, frozenset[str]]:
    """The hidden columns of each table that has any: by name, by the table they are inherited from, by their source."""
    found = {(name, one) for name, own in columns.items() for one in own if hidden.column(name, one)}
    found |= {
        (child, one) for name, one in found for _, child in under.get(name.lower(), ()) if one in columns.get(child, ())
    }
    found |= {(row["name"], row["column"]) for row in generated if (row["name"], row["source"]) in found}
    return {name: own for name in columns if (own := frozenset(one for table, one in found if table == name))}


def _views_of_hidden(shut: set[str], below: list[Any], closed: dict[str, frozenset[str]], hidden: Hidden) -> set[str]:
    """All views that read, through whatever others, a hidden table or column: a view runs with its owner's rights.

    Of a view with a whole row in it PostgreSQL does not say which columns it reads.
    """

    def reads_hidden(row: Any) -> bool:
        name, column = row["name"], row["column"]
        if column and hidden.column(name, column):
            return True  # also of another schema's table
        return name in closed and (row["whole"] or column in closed[name])

    found: set[str] = set()
    while True:
        more = {row["view"] for row in below if row["name"] in shut | found or reads_hidden(row)} - found
        if not more:
            return found
        found |= more


def _confusable(columns: dict[str, list[str]], shut: set[str], closed: dict[str, frozenset[str]]) -> set[str]:
    """Tables whose names differ in case alone, with something hidden in one: the looks could take it for another."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in columns:
        alike[name.lower()].append(name)
    return {
        one
        for names in alike.values()
        if len(names) > 1 and any(name in shut or name in closed for name in names)
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
