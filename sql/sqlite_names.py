"""Which of an SQLite file's tables and columns there are, and which of them may be read."""

import sqlite3
from collections import Counter
from dataclasses import dataclass, field

from sql.hidden import Hidden
from sql.tokens import Token, tokens

# Table-valued functions that only spell out a value they are given.
HARMLESS_MODULES = frozenset({"json_each", "json_tree", "generate_series"})


@dataclass(frozen=True)
class Names:
    """All in lower case; `real` gives the spelling."""

    version: int
    """SQLite's count of changes to what the file is made of."""
    real: dict[str, str] = field(default_factory=dict)
    """Of every table and view, hidden ones too."""
    listed: frozenset[str] = frozenset()
    """What may be asked for."""
    shut: frozenset[str] = frozenset()
    """Hidden tables."""
    visible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that may be read, of each listed table, as they are spelt."""
    concealed: dict[str, frozenset[str]] = field(default_factory=dict)
    """The columns that may not, where there are any."""
    pages: dict[int, str] = field(default_factory=dict)
    """Whose rows or index begin on this page of the file."""
    modules: frozenset[str] = frozenset()
    """Table-valued functions and kinds of virtual tables."""
    shadows: frozenset[str] = frozenset()
    """Tables that virtual tables keep for themselves."""
    views: frozenset[str] = frozenset()
    virtual: frozenset[str] = frozenset()
    beneath: dict[str, frozenset[str]] = field(default_factory=dict)
    """What a listed view reads, where `only` lists it and not all of that."""


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA schema_version").fetchone()[0])


def read_names(connection: sqlite3.Connection, hidden: Hidden) -> Names:
    """As they are now."""
    tables = connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    own = [(name, kind) for name, kind in tables if not name.lower().startswith("sqlite_")]
    listed = [name for name, kind in own if kind != "shadow" and hidden.listed(name)]
    declared = {name: found for name, kind in own if (found := columns_of(connection, name)) or kind != "view"}
    sources = {
        name: tokens(sql or "", "sqlite") for name, sql in connection.execute("SELECT name, sql FROM sqlite_master")
    }
    concealed = {  # of tables that are not listed, too: whoever reads them through a view reads them
        name.lower(): closed
        for name, columns in declared.items()
        if (closed := _closed(name, columns, sources.get(name, []), hidden))
    }
    shut = {name.lower() for name, _ in own if hidden.table(name)}
    alike = Counter(name.lower() for name, _ in own)  # SQLite folds the case of ASCII letters only
    shut |= {name for name, count in alike.items() if count > 1 and name in shut | concealed.keys()}
    shut |= _virtual_of_hidden([name for name, kind in own if kind == "virtual"], sources, shut | concealed.keys())
    listed = [name for name in listed if declared.get(name) and name.lower() not in shut]  # else it does not work here
    visible = {
        name.lower(): tuple(c for c in declared[name] if c.lower() not in concealed.get(name.lower(), ()))
        for name in listed
    }
    pages = connection.execute("SELECT rootpage, tbl_name FROM sqlite_master WHERE rootpage > 0").fetchall()
    modules = connection.execute("SELECT lower(name) FROM pragma_module_list").fetchall()
    names = Names(
        version=version(connection),
        real={name.lower(): name for name, _ in tables},
        listed=frozenset(name.lower() for name in listed),
        shut=frozenset(shut),
        visible=visible,
        concealed=concealed,
        pages={1: "sqlite_master"} | {page: name.lower() for page, name in pages},
        modules=frozenset(name for (name,) in modules) - HARMLESS_MODULES,
        shadows=frozenset(name.lower() for name, kind in tables if kind == "shadow"),
        views=frozenset(name.lower() for name, kind in own if kind == "view"),
        virtual=frozenset(name.lower() for name, kind in own if kind == "virtual"),
    )
    if hidden.only:
        views = [name for name, kind in own if kind == "view" and name in listed]
        names.beneath.update({name.lower(): _beneath(connection, name, names) for name in views})
    return names


def _closed(table: str, columns: list[str], source: list[Token], hidden: Hidden) -> frozenset[str]:
    """Its hidden columns, and those that are generated from hidden ones."""
    found = {column.lower() for column in columns if hidden.column(table, column)}
    parts = _parts(source) if found else []
    while more := {part[0] for part in parts if "as" in part and not found.isdisjoint(part)} - found:
        found |= more
    return frozenset(found)


def _parts(source: list[Token]) -> list[list[str]]:
    """What stands between the commas of CREATE TABLE: of each column, its name first and all that is named."""
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


def _virtual_of_hidden(virtual: list[str], sources: dict[str, list[Token]], closed: set[str]) -> set[str]:
    """A full-text index tells what it was made of, and is searched in all its columns at once."""
    found: set[str] = set()
    while True:
        more = {
            name.lower()
            for name in virtual
            if any(token.text.strip("'").lower() in closed | found for token in sources.get(name, []))
        } - found
        if not more:
            return found
        found |= more


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """Of a view that no longer works: none."""
    try:
        rows = connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.DatabaseError:
        return []
    return [name for (name,) in rows]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _beneath(connection: sqlite3.Connection, view: str, names: Names) -> frozenset[str]:
    try:
        program = connection.execute(f"EXPLAIN SELECT * FROM {quoted(view)}").fetchall()  # noqa: S608
    except sqlite3.DatabaseError:
        return frozenset()
    return frozenset(names.pages[row[3]] for row in program if row[1] == "OpenRead" and row[3] in names.pages)
