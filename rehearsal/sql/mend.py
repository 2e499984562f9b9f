"""Corrects slips in a SQL statement: keywords, names of tables and columns, a quote or a parenthesis left open."""

import re
from collections.abc import Iterable

from rehearsal.sql.tables import Tables
from rehearsal.sql.words import near, phrases, split
from rehearsal.sql.writing import Written

_PIECE = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|\w+|\s+|.", re.DOTALL)
_KEYWORDS = phrases(
    "select, from, where, group, by, order, having, limit, join, left, inner, outer, on, and, or, not, in, is, "
    "null, as, distinct, count, sum, avg, min, max, between, like, exists, union, case, when, then, else, end, "
    "desc, asc, offset, with, using"
)


def mend(sql: str, problem: str, tables: Tables, dialect: str) -> Written:
    """The statement corrected, with what was changed; or why that is not clear."""
    closed, notes = _closed(sql.strip().rstrip(";").rstrip())
    pieces = _PIECE.findall(closed)
    columns = {column for table in tables.by_name.values() for column in table.names}
    before = ""
    for at, word in enumerate(pieces):
        if not re.match(r"[A-Za-z_]", word):
            continue
        called = pieces[at + 1 : at + 2] == ["("]
        if before in {"from", "join"}:
            right = word if word.lower() == "select" else _nearest(word, tables.by_name)
        elif before == "as" or word.lower() in _KEYWORDS or word in columns or word in tables.by_name:
            right = word
        else:
            keyword = next((one for one in _KEYWORDS if near(word.lower(), one) and min(len(word), len(one)) > 1), "")
            right = keyword.upper() or (word if called else _nearest(word, columns))
        if right != word:
            notes.append(f"{word} is {right}")
            pieces = [right if one == word else one for one in pieces]
        before = right.lower()
    mended = "".join(pieces)
    misused = set(re.findall(r"(\w+)\s+by\b", mended.lower())) - {"group", "order", "partition"}
    if not notes or misused:
        return Written(cannot=f"I do not see how to put this right: {problem or 'no fault is known'}.")
    return Written(mended, f"Put right: {'; '.join(notes)}.")


def _closed(sql: str) -> tuple[str, list[str]]:
    """With a quote and a parenthesis closed, where there is one place for it."""
    notes = []
    if sql.count("'") % 2:
        sql = re.sub(r"'([^'\s,()]+)(?=[^']*$)", r"'\1'", sql, count=1)
        notes.append("a quote closed")
    if sql.count("(") - sql.count(")") == 1:
        inside = r"(?<=\w)\((\s*(?:\*|\w+(?:\.\w+)?))\s+(?=(?:as|from|desc|asc|and)\b|[<>=])"
        sql = re.sub(inside, r"(\1) ", sql, count=1, flags=re.IGNORECASE)
        sql = sql if sql.count("(") == sql.count(")") else f"{sql})"
        notes.append("a parenthesis closed")
    return sql, notes


def _nearest(word: str, names: Iterable[str]) -> str:
    """The one name that is meant: of the same words, or near in its letters; else the word as it is."""
    for found in (
        [name for name in names if split(name) == split(word)],
        [name for name in names if near(name.lower(), word.lower())],
    ):
        if found:
            return found[0] if len(found) == 1 else word
    return word
