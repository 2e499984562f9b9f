"""Which tables and columns a question needs: those of its statement, with what the person said about them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rehearsal.sql.requests import mentioned
from rehearsal.sql.tables import Tables
from rehearsal.sql.writing import missing, write_sql

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
    for said in feedback:
        about = mentioned(said, tables.by_name)
        used = [table for table in used if table not in about] if _DROP.search(said) else [*used, *about]
    reasons = tuple(
        (table, "The question is about its rows." if table in named else "The question needs its columns.")
        for table in dict.fromkeys(used)
    )
    return Relevant(reasons, "" if written.sql else missing(question, tables))


def columns_for(question: str, tables: Tables) -> dict[str, list[str]]:
    """The columns that the statement names."""
    sql = write_sql(question, tables, "sqlite").sql
    found: dict[str, list[str]] = {}
    for table in tables.by_name.values():
        for name in table.names:
            if re.search(rf'(?<!\w)"?{re.escape(table.name)}(?:_\d+)?"?\."?{re.escape(name)}"?(?!\w)', sql):
                found.setdefault(table.name, []).append(name)
    return found
