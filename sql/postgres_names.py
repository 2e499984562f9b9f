"""The tables, columns and functions of a PostgreSQL schema, and which of them may be used."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from sql.postgres_catalogs import BENEATH, ELSEWHERE, FUNCTIONS, GENERATED, KEYWORDS, PARTS, TABLES
from sql.schema import Hidden
from sql.spelling import Spelling, quoted
from sql.tokens import Token

# Volatile functions without side effects.
_HARMLESS = (
    *("bernoulli", "clock_timestamp", "gen_random_uuid", "random", "random_normal", "system", "timeofday"),
    *("uuidv4", "uuidv7"),
)
# Functions that are not volatile but reach beyond the approved data: settings, files, other sessions, catalogs, SQL
# given as text.
_REACHING = (
    *("pg_*", "lo_*", "loread", "lowrite", "dblink*", "*_to_xml*", "txid_*", "inet_client_*", "inet_server_*"),
    *("has_*_privilege", "to_reg*", "currtid*", "*_description", "current_setting", "set_config", "ts_stat"),
    *("ts_rewrite", "ts_debug", "ts_parse", "ts_token_type", "row_security_active", "binary_upgrade_*", "crosstab*"),
    *("satisfies_hash_partition", "connectby*", "xpath_table", "acl*", "format_type", "makeaclitem", "oidvectortypes"),
)
_OF_EXTENSIONS = [
    *("gen_random_bytes", "gen_salt", "unaccent", "uuid_generate_v1", "uuid_generate_v1mc", "uuid_generate_v4"),
]
_ALLOWED = ("pg_typeof", "pg_column_size", "pg_size_pretty")


@dataclass(frozen=True)
class PgNames:
    """The names of a schema. Keys are in lower case; values have the database's spelling."""

    schema: str
    fingerprint: str
    spelling: dict[str, str] = field(default_factory=dict)
    listed: frozenset[str] = frozenset()
    hidden_tables: frozenset[str] = frozenset()
    visible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hidden_columns: dict[str, frozenset[str]] = field(default_factory=dict)
    sources: dict[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """(schema, table) of everything that a view or a partitioned table reads."""
    fenced: frozenset[str] = frozenset()
    """Tables with hidden columns, and views and tables that read more than may be queried directly."""
    unusable: frozenset[str] = frozenset()
    """Functions that may not be called."""
    tables: tuple[str, ...] = ()
    """The tables and views that may be queried, as the database spells them: some may differ in case only."""
    elsewhere: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By name in lower case: (schema, table) of a table of another schema that may be read."""
    keywords: frozenset[str] = frozenset()
    """The words that are no names unless they are quoted."""
    is_unrestricted: bool = False
    """Nothing is hidden, so that only the role's privileges apply."""

    @property
    def spell(self) -> Spelling:
        """How a statement has to write a name."""
        return Spelling("postgres", self.keywords)

    def meant_table(self, tokens: Iterable[Token], name: str, schema: str = "") -> str:
        """A sentence about the table that was probably meant by this name; "" if it seems to mean none."""
        is_here = schema in ("", self.schema)
        if (place := self.elsewhere.get(name.lower())) and not (is_here and name.lower() in self.listed):
            return f"It is in another schema: {'.'.join(map(self.spell, place))}"
        return self.spell.hint(tokens, name, self.tables) if is_here else ""

    @property
    def tables_with_hidden_columns(self) -> frozenset[tuple[str, str]]:
        """(schema, table) of the tables with hidden columns."""
        return frozenset((self.schema, self.spelling[name]) for name in self.hidden_columns)

    def may_scan(self, place: tuple[str, str]) -> bool:
        """Whether this whole (schema, table) may be read."""
        schema, name = place
        return self.open_to(schema) or (
            schema == self.schema and name.lower() in self.listed and name.lower() not in self.hidden_columns
        )

    def open_to(self, schema: str) -> bool:
        """Whether tables of this other schema may be read as well."""
        return (
            self.is_unrestricted
            and schema != self.schema
            and not schema.startswith("pg_")
            and schema != "information_schema"
        )


async def read_pg_names(connection: Any, schema: str, fingerprint: str, hidden: Hidden) -> PgNames:
    """The current names, valid as long as the fingerprint stays the same."""
    tables = await connection.fetch(TABLES, quoted(schema))
    read_by_view = await connection.fetch(BENEATH, quoted(schema))
    parts = await connection.fetch(PARTS, quoted(schema))
    columns = {row["name"]: row["columns"] for row in tables}
    descendants = _closure([tuple(row) for row in parts], schema)
    generated = await connection.fetch(GENERATED, quoted(schema))
    hidden_columns = _hidden_columns(columns, descendants, generated, hidden)
    hidden_tables = {name for name in columns if hidden.hides_table(name)}
    hidden_tables |= _views_of_hidden(hidden_tables, read_by_view, hidden_columns, hidden)
    hidden_tables |= _confusable(columns, hidden_tables, hidden_columns)
    unlisted_partitions = {
        name for table, children in descendants.items() if not hidden.allows_table(table) for _, name in children
    }
    unlisted_partitions |= hidden_columns.keys()
    listed = {
        row["name"]
        for row in tables
        if row["readable"]
        and not row["foreign_made"]
        and hidden.allows_table(row["name"])
        and not (row["part"] and row["name"] in unlisted_partitions)
    } - hidden_tables
    queryable = {row["name"] for row in tables if not row["part"]} & listed
    views = {row["name"].lower() for row in tables if row["view"]}
    names = PgNames(
        schema=schema,
        fingerprint=fingerprint,
        spelling={name.lower(): name for name in columns},
        listed=frozenset(name.lower() for name in listed),
        hidden_tables=frozenset(name.lower() for name in hidden_tables),
        visible=_visible(columns, queryable, hidden_columns),
        hidden_columns={name.lower(): own for name, own in hidden_columns.items()},
        sources=_closure(
            [*((r["view"], r["schema"], r["name"]) for r in read_by_view), *(tuple(r) for r in parts)], schema
        ),
        unusable=await _unusable(connection, schema),
        tables=tuple(sorted(queryable)),
        keywords=frozenset(row["word"] for row in await connection.fetch(KEYWORDS)),
        is_unrestricted=not hidden.names and not hidden.only,
    )
    rows = await connection.fetch(ELSEWHERE, quoted(schema))
    elsewhere = {row["name"].lower(): (row["schema"], row["name"]) for row in rows if names.open_to(row["schema"])}
    return replace(names, fenced=_fenced(names, views), elsewhere=elsewhere)


def _visible(
    columns: dict[str, list[str]], queryable: set[str], hidden_columns: dict[str, frozenset[str]]
) -> dict[str, tuple[str, ...]]:
    """The readable columns by table; tables that differ in case only share theirs."""
    visible: dict[str, tuple[str, ...]] = {}
    for name in sorted(queryable):
        own = (column for column in columns[name] if column not in hidden_columns.get(name, ()))
        visible[name.lower()] = (*visible.get(name.lower(), ()), *own)
    return visible


def _fenced(names: PgNames, views: set[str]) -> frozenset[str]:
    """The names that need a fence; none if nothing is hidden. Partitions count as read with their table."""

    def reads_more(name: str) -> bool:
        sources = names.sources.get(name, frozenset())
        return not sources.isdisjoint(names.tables_with_hidden_columns) or (
            name in views and not all(names.may_scan(place) for place in sources)
        )

    visible = names.visible.keys() & names.listed
    return (
        frozenset()
        if names.is_unrestricted
        else frozenset(n for n in visible if n in names.hidden_columns or reads_more(n))
    )


async def _unusable(connection: Any, schema: str) -> frozenset[str]:
    rows = await connection.fetch(FUNCTIONS, quoted(schema), _OF_EXTENSIONS)
    return frozenset(
        row["name"].lower()
        for row in rows
        if row["foreign_made"] or (row["volatile"] and row["name"] not in _HARMLESS) or reaches(row["name"])
    )


def reaches(name: str) -> bool:
    return name not in _ALLOWED and any(fnmatchcase(name, pattern) for pattern in _REACHING)


def _hidden_columns(
    columns: dict[str, list[str]], descendants: Any, generated: list[Any], hidden: Hidden
) -> dict[str, frozenset[str]]:
    """The hidden columns of each table that has any: hidden by name, by inheritance, or generated from hidden ones."""
    pairs = {(name, column) for name, own in columns.items() for column in own if hidden.hides_column(name, column)}
    pairs |= {
        (child, column)
        for name, column in pairs
        for _, child in descendants.get(name.lower(), ())
        if column in columns.get(child, ())
    }
    pairs |= {(row["name"], row["column"]) for row in generated if (row["name"], row["source"]) in pairs}
    return {name: own for name in columns if (own := frozenset(column for table, column in pairs if table == name))}


def _views_of_hidden(
    hidden_tables: set[str], read_by_view: list[Any], hidden_columns: dict[str, frozenset[str]], hidden: Hidden
) -> set[str]:
    """All views that read a hidden table or column, directly or through views: views run with their owner's rights.

    For a whole-row reference in a view, PostgreSQL does not say which columns it reads.
    """

    def reads_hidden(row: Any) -> bool:
        name, column = row["name"], row["column"]
        if column and hidden.hides_column(name, column):
            return True  # also in a table of another schema
        return name in hidden_columns and (row["whole"] or column in hidden_columns[name])

    views: set[str] = set()
    while True:
        hidden_so_far = hidden_tables | views
        more = {row["view"] for row in read_by_view if row["name"] in hidden_so_far or reads_hidden(row)} - views
        if not more:
            return views
        views |= more


def _confusable(
    columns: dict[str, list[str]], hidden_tables: set[str], hidden_columns: dict[str, frozenset[str]]
) -> set[str]:
    """Tables whose names differ only in case, if one has something hidden: the checks could confuse them."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in columns:
        alike[name.lower()].append(name)
    return {
        name_alike
        for names in alike.values()
        if len(names) > 1 and any(name in hidden_tables or name in hidden_columns for name in names)
        for name_alike in names
    }


def _closure(edges: list[tuple[str, str, str]], schema: str) -> dict[str, frozenset[tuple[str, str]]]:
    direct: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for above, where, name in edges:
        direct[above].add((where, name))
    answer = {}
    for above, first in direct.items():
        reached: set[tuple[str, str]] = set()
        todo = list(first)
        while todo:
            relation = todo.pop()
            if relation not in reached:
                reached.add(relation)
                todo += direct.get(relation[1], ()) if relation[0] == schema else ()
        answer[above.lower()] = frozenset(reached)
    return answer
