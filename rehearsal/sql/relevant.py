"""Which tables and columns a question needs: those that its statement uses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rehearsal.sql.joins import Joins, Path
from rehearsal.sql.lexicon import Lexicon
from rehearsal.sql.tables import Tables
from rehearsal.sql.text import Text
from rehearsal.sql.writing import write_sql

_ADD = re.compile(r"\b(?:also|add|include|with|use|plus|need|too)\b", re.IGNORECASE)
_DROP = re.compile(r"\b(?:without|not|drop|remove|leave out|exclude|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Relevant:
    """Tables with why each is needed; `missing`: what no table has."""

    tables: tuple[tuple[str, str], ...] = ()
    missing: str = ""


def relevant(question: str, tables: Tables, feedback: Sequence[str] = ()) -> Relevant:
    """The tables of the statement; where there is none, those that are named and what joins them."""
    written = write_sql(question, tables, "sqlite")
    lexicon = Lexicon(tables)
    named = mentioned(question, lexicon)
    used = used_tables(written.sql, tables) if written.sql else _connected(list(named), tables)
    used = _told(used, feedback, lexicon)
    reasons = tuple((table, named.get(table) or _link(table, used, tables)) for table in used)
    return Relevant(reasons, "" if written.sql else written.cannot)


def columns_for(question: str, tables: Tables) -> dict[str, list[str]]:
    """The columns that the statement names; all that are mentioned where there is none."""
    written = write_sql(question, tables, "sqlite")
    found: dict[str, list[str]] = {}
    lexicon = Lexicon(tables)
    text = Text(question, lexicon)
    said = {
        (spot.table, column)
        for at in range(len(text))
        for entry, _, _ in text.meanings(at)
        for spot in (*entry.spots, *(option[0] for option in entry.options))
        for column in spot.columns
    }
    for table in tables.by_name.values():
        alias = rf"{re.escape(table.name)}(?:_\d+)?"
        for name in table.names:
            used = re.search(rf'(?<!\w)"?{alias}"?\."?{re.escape(name)}"?(?!\w)', written.sql)
            if used or (not written.sql and (table.name, name) in said):
                found.setdefault(table.name, []).append(name)
    return found


def mentioned(question: str, lexicon: Lexicon) -> dict[str, str]:
    """The tables that words of the question point at, with the word."""
    text = Text(question, lexicon)
    found: dict[str, str] = {}
    for at in range(len(text)):
        for entry, _, end in text.meanings(at):
            said = " ".join(token.text for token in text.tokens[at:end])
            least = min(entry.things.values(), default=0)
            for table in (table for table, rank in entry.things.items() if rank == least):
                found.setdefault(table, f"“{said}” are its rows.")
            places = [*entry.spots, *(option[0] for option in entry.options)]
            if len({spot.table for spot in places}) == 1:
                kind = "a value of its column" if entry.options else "its column"
                found.setdefault(places[0].table, f"“{said}” is {kind} {places[0].columns[0]}.")
            elif places:
                for spot in places:
                    if spot.table in found:
                        break
    return found


def used_tables(sql: str, tables: Tables) -> list[str]:
    """The tables after FROM and JOIN, in their order."""
    names = re.findall(r'\b(?:FROM|JOIN)\s+"?(\w+)"?', sql, re.IGNORECASE)
    return [name for name in dict.fromkeys(names) if name in tables.by_name]


def _connected(named: list[str], tables: Tables) -> list[str]:
    """The tables, and those on the ways between them."""
    joins = Joins(tables)
    found = dict.fromkeys(named[:1])
    for table in named[1:]:
        way = joins.path(named[0], table)
        found |= dict.fromkeys(step.end for step in (way[1] if way else ()))
        found[table] = None
    return list(found)


def _told(used: list[str], feedback: Sequence[str], lexicon: Lexicon) -> list[str]:
    """The tables after what the person said of them."""
    for said in feedback:
        named = list(mentioned(said, lexicon))
        if named and _DROP.search(said):
            used = [table for table in used if table not in named]
        elif named and (_ADD.search(said) or len(said.split()) < 6):
            used = list(dict.fromkeys((*used, *named)))
    return used


def _link(table: str, used: Sequence[str], tables: Tables) -> str:
    """Why a table is needed that no word points at."""
    steps = {step.end for other in used if other != table for step in _neighbours(table, other, tables)}
    return f"It connects {' and '.join(sorted(steps)[:3])}." if len(steps) > 1 else "The question needs its columns."


def _neighbours(table: str, other: str, tables: Tables) -> Path:
    found = Joins(tables).path(table, other)
    return found[1][:1] if found else ()
