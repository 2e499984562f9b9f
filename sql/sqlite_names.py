"""The tables and columns of an SQLite file, and which of them may be read."""

import sqlite3
from collections import Counter
from dataclasses import dataclass, field

from sql.schema import Hidden
from sql.spelling import quoted
from sql.tokens import Token, tokenize

# Table-valued functions that only expand their argument.
HARMLESS_MODULES = frozenset({"json_each", "json_tree", "generate_series"})


@dataclass(frozen=True)
class SqliteNames:
    """The names of a file, in lower case; `spelling` has the original spelling."""

    version: int
    """SQLite's schema version, which grows with every change of the schema."""
    spelling: dict[str, str] = field(default_factory=dict)
    """The spelling of every table and view, including hidden ones."""
    listed: frozenset[str] = frozenset()
    """Tables and views that may be queried."""
    hidden_tables: frozenset[str] = frozenset()
    """Hidden tables."""
    visible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The readable columns of each listed table, in their original spelling."""
    hidden_columns: dict[str, frozenset[str]] = field(default_factory=dict)
    """The hidden columns of each table that has any."""
    pages: dict[int, str] = field(default_factory=dict)
    """The table whose rows or index begin on this page of the file."""
    modules: frozenset[str] = frozenset()
    """Table-valued functions and kinds of virtual tables."""
    shadows: frozenset[str] = frozenset()
    """Internal tables of virtual tables."""
    views: frozenset[str] = frozenset()
    virtual: frozenset[str] = frozenset()
    view_sources: dict[str, frozenset[str]] = field(default_factory=dict)
    """What a listed view reads, if `only` lists the view but not all its sources."""


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA schema_version").fetchone()[0])


def read_names(connection: sqlite3.Connection, hidden: Hidden) -> SqliteNames:
    """The current names."""
    tables = connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    own = [(name, kind) for name, kind in tables if not name.lower().startswith("sqlite_")]
    listed = [name for name, kind in own if kind != "shadow" and hidden.allows_table(name)]
    declared = {name: columns for name, kind in own if (columns := columns_of(connection, name)) or kind != "view"}
    sources = {
        name: tokenize(sql or "", "sqlite") for name, sql in connection.execute("SELECT name, sql FROM sqlite_master")
    }
    hidden_columns = {  # also of unlisted tables, which views may read
        name.lower(): own_hidden
        for name, columns in declared.items()
        if (own_hidden := _hidden_columns(name, columns, sources.get(name, []), hidden))
    }
    hidden_tables = {name.lower() for name, _ in own if hidden.hides_table(name)}
    alike = Counter(name.lower() for name, _ in own)  # SQLite folds the case of ASCII letters only
    hidden_tables |= {
        name for name, count in alike.items() if count > 1 and name in hidden_tables | hidden_columns.keys()
    }
    hidden_tables |= _virtual_of_hidden(
        [name for name, kind in own if kind == "virtual"], sources, hidden_tables | hidden_columns.keys()
    )
    listed = [
        name for name in listed if declared.get(name) and name.lower() not in hidden_tables
    ]  # a view without columns is broken
    visible = {
        name.lower(): tuple(c for c in declared[name] if c.lower() not in hidden_columns.get(name.lower(), ()))
        for name in listed
    }
    pages = connection.execute("SELECT rootpage, tbl_name FROM sqlite_master WHERE rootpage > 0").fetchall()
    modules = connection.execute("SELECT lower(name) FROM pragma_module_list").fetchall()
    names = SqliteNames(
        version=version(connection),
        spelling={name.lower(): name for name, _ in tables},
        listed=frozenset(name.lower() for name in listed),
        hidden_tables=frozenset(hidden_tables),
        visible=visible,
        hidden_columns=hidden_columns,
        pages={1: "sqlite_master"} | {page: name.lower() for page, name in pages},
        modules=frozenset(name for (name,) in modules) - HARMLESS_MODULES,
        shadows=frozenset(name.lower() for name, kind in tables if kind == "shadow"),
        views=frozenset(name.lower() for name, kind in own if kind == "view"),
        virtual=frozenset(name.lower() for name, kind in own if kind == "virtual"),
    )
    if hidden.only:
        views = [name for name, kind in own if kind == "view" and name in listed]
        names.view_sources.update({name.lower(): _view_sources(connection, name, names) for name in views})
    return names


def _hidden_columns(table: str, columns: list[str], source: list[Token], hidden: Hidden) -> frozenset[str]:
    """The hidden columns of a table, and those generated from hidden ones."""
    hidden_names = {column.lower() for column in columns if hidden.hides_column(table, column)}
    parts = _column_parts(source) if hidden_names else []
    while more := {part[0] for part in parts if "as" in part and not hidden_names.isdisjoint(part)} - hidden_names:
        hidden_names |= more
    return frozenset(hidden_names)


def _column_parts(source: list[Token]) -> list[list[str]]:
    """The comma-separated parts of CREATE TABLE: for each column its name, and all names after it."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in source:
        if token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
            if token.text in ("(", ",") and depth == 1:
                parts.append([])
        elif token.identifier is not None:
            parts[-1].append(token.identifier)
    return [part for part in parts[1:] if part]


def _virtual_of_hidden(virtual: list[str], sources: dict[str, list[Token]], hidden_names: set[str]) -> set[str]:
    """The virtual tables over hidden data: a full-text index reveals its content, and is searched in all columns."""
    virtual_hidden: set[str] = set()
    while True:
        more = {
            name.lower()
            for name in virtual
            if any(token.text.strip("'").lower() in hidden_names | virtual_hidden for token in sources.get(name, []))
        } - virtual_hidden
        if not more:
            return virtual_hidden
        virtual_hidden |= more


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table or view; none for a broken view."""
    try:
        rows = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.DatabaseError:
        return []
    return [name for (name,) in rows]


def _view_sources(connection: sqlite3.Connection, view: str, names: SqliteNames) -> frozenset[str]:
    try:
        program = connection.execute(f"EXPLAIN SELECT * FROM {quoted(view)}").fetchall()  # noqa: S608
    except sqlite3.DatabaseError:
        return frozenset()
    return frozenset(names.pages[row[3]] for row in program if row[1] == "OpenRead" and row[3] in names.pages)
