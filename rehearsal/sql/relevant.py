"""Which tables and columns a question needs: those of its statement, with what the person said about them."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rehearsal.sql.lexicon import LONGEST, Lexicon
from rehearsal.sql.tables import Tables
from rehearsal.sql.words import tokens
from rehearsal.sql.writing import missing, write_sql

_DROP = re.compile(r"\b(?:without|not|drop|remove|leave out|except|exclude|no need|instead of)\b", re.IGNORECASE)
_ADD = re.compile(r"\b(?:add|also|too|use|include|with|take|need|plus|and)\b", re.IGNORECASE)


class Relevant(NamedTuple):
    """`tables`: name and reason of each. `missing`: what no table has."""

    tables: tuple[tuple[str, str], ...]
    missing: str


def relevant(question: str, tables: Tables, feedback: Sequence[str]) -> Relevant:
    """The tables of the statement; where there is none, those that the question names."""
    written = write_sql(question, tables, "sqlite")
    named = mentioned(question, tables)
    used = _used(written.sql, tables) if written.sql else list(named)
    for said in feedback:
        about = list(mentioned(said, tables))
        if about and _DROP.search(said):
            used = [table for table in used if table not in about]
        elif about and (_ADD.search(said) or len(said.split()) < 6):
            used = list(dict.fromkeys((*used, *about)))
    reasons = tuple((table, named.get(table) or "The question needs its columns.") for table in used)
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


def mentioned(text: str, tables: Tables) -> dict[str, str]:
    """The tables that words of the text point at, each with the reason."""
    lexicon, read = Lexicon(tables), tokens(text)
    found: dict[str, str] = {}
    at = 0
    while at < len(read):
        ends = range(min(at + LONGEST, len(read)), at, -1)
        end = next((end for end in ends if lexicon.look_up(read[at:end])), at)
        meaning = lexicon.look_up(read[at:end])
        said = " ".join(token.text for token in read[at:end])
        at = max(end, at + 1)
        if meaning is None:
            continue
        for table, rank in meaning.tables.items():
            if rank == min(meaning.tables.values()):
                found.setdefault(table, f"“{said}” are its rows.")
        spots = [*meaning.columns, *(spot for spot, _ in meaning.values)]
        if len({spot.table for spot in spots}) == 1:
            kind = "its column" if meaning.columns else "a value of its column"
            found.setdefault(spots[0].table, f"“{said}” is {kind} {spots[0].columns[0]}.")
    return found


def _used(sql: str, tables: Tables) -> list[str]:
    """The tables after FROM and JOIN, in their order."""
    names = re.findall(r'\b(?:FROM|JOIN)\s+"?(\w+)"?', sql)
    return [name for name in dict.fromkeys(names) if name in tables.by_name]
