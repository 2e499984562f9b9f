"""Schema linking: the tables and columns that a question needs, those of its statement and those it mentions."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rehearsal.sql.request_kinds import mentioned
from rehearsal.sql.schema import Tables
from rehearsal.sql.translation import missing, write_sql

_DROP = re.compile(r"\b(?:without|not|drop|remove|leave out|exclude|no need|instead of)\b", re.IGNORECASE)


class Relevant(NamedTuple):
    """`tables`: name and reason of each. `missing`: what no table has."""

    tables: tuple[tuple[str, str], ...]
    missing: str


def relevant(question: str, tables: Tables, feedback: Sequence[str]) -> Relevant:
    """The tables of the statement; where there is none, those that the question names."""
    written = write_sql(question, tables, "sqlite")
    named = mentioned(question, tables.by_name)
    used = re.findall(r'\b(?:FROM|JOIN)\s+"?(\w+)"?', written.sql) if written.sql else named
    for line in feedback:
        about = mentioned(line, tables.by_name)
        used = [table for table in used if table not in about] if _DROP.search(line) else [*used, *about]
    reasons = tuple(
        (table, "The question is about its rows." if table in named else "The question needs its columns.")
        for table in dict.fromkeys(used)
    )
    return Relevant(reasons, "" if written.sql else missing(question, tables))


def columns_for(question: str, tables: Tables) -> dict[str, list[str]]:
    """The columns that the statement names."""
    sql = write_sql(question, tables, "sqlite").sql
    by_table: dict[str, list[str]] = {}
    for table in tables.by_name.values():
        for name in table.names:
            if re.search(rf'(?<!\w)"?{re.escape(table.name)}(?:_\d+)?"?\."?{re.escape(name)}"?(?!\w)', sql):
                by_table.setdefault(table.name, []).append(name)
    return by_table
