"""Which of an SQLite file's tables and columns there are, and which of them may be read."""

import sqlite3
from dataclasses import dataclass, field

from sql.hidden import Hidden

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
    own: int = 0
    """How many tables and views there are, SQLite's own not counted."""
    beneath: dict[str, frozenset[str]] = field(default_factory=dict)
    """What a listed view reads, where `only` lists it and not all of that."""


def version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA schema_version").fetchone()[0])


def read_names(connection: sqlite3.Connection, hidden: Hidden) -> Names:
    """As they are now."""
    tables = connection.execute("SELECT name, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    own = [(name, kind) for name, kind in tables if not name.lower().startswith("sqlite_")]
    listed = [name for name, kind in own if kind != "shadow" and hidden.listed(name)]
    visible, concealed = {}, {}
    for name in list(listed):
        columns = columns_of(connection, name)
        if not columns:  # a view or a virtual table that does not work here
            listed.remove(name)
            continue
        visible[name.lower()] = tuple(column for column in columns if not hidden.column(name, column))
        if closed := frozenset(column.lower() for column in columns if hidden.column(name, column)):
            concealed[name.lower()] = closed
    for name, kind in own:  # whoever reads it through a view reads it too
        if name not in listed and kind != "view":
            closed = frozenset(one.lower() for one in columns_of(connection, name) if hidden.column(name, one))
            concealed |= {name.lower(): closed} if closed else {}
    pages = connection.execute("SELECT rootpage, lower(tbl_name) FROM sqlite_master WHERE rootpage > 0")
    modules = connection.execute("SELECT lower(name) FROM pragma_module_list").fetchall()
    names = Names(
        version=version(connection),
        real={name.lower(): name for name, _ in tables},
        listed=frozenset(name.lower() for name in listed),
        shut=frozenset(name.lower() for name, _ in own if hidden.table(name)),
        visible=visible,
        concealed=concealed,
        pages={1: "sqlite_master", **dict(pages.fetchall())},
        modules=frozenset(name for (name,) in modules) - HARMLESS_MODULES,
        shadows=frozenset(name.lower() for name, kind in tables if kind == "shadow"),
        views=frozenset(name.lower() for name, kind in own if kind == "view"),
        own=sum(kind != "shadow" for _, kind in own),
    )
    if hidden.only:
        views = [name for name, kind in own if kind == "view" and name in listed]
        names.beneath.update({name.lower(): _beneath(connection, name, names) for name in views})
    return names


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
