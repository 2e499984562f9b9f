"""Corrects slips in a SQL statement: in keywords, and in names of tables and columns."""

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


def mend(sql: str, problem: str, tables: Tables) -> Written:
    """The statement corrected, with what was changed; or why that is not clear."""
    columns = {column for table in tables.by_name.values() for column in table.names}
    pieces = _PIECE.findall(sql.strip().rstrip(";").rstrip())
    before, notes = "", []
    for at, word in enumerate(pieces):
        if not re.match(r"[A-Za-z_]", word):
            continue
        right = word
        if before in {"from", "join"}:
            right = word if word.lower() == "select" else _nearest(word, tables.by_name)
        elif before != "as" and word.lower() not in _KEYWORDS and word not in {*columns, *tables.by_name}:
            keyword = next((one for one in _KEYWORDS if near(word.lower(), one) and min(len(word), len(one)) > 1), "")
            right = keyword.upper() or (word if pieces[at + 1 : at + 2] == ["("] else _nearest(word, columns))
        if right != word:
            notes.append(f"{word} is {right}")
            pieces = [right if one == word else one for one in pieces]
        before = right.lower()
    mended = "".join(pieces)
    misused = set(re.findall(r"(\w+)\s+by\b", mended.lower())) - {"group", "order", "partition"}
    if not notes or misused:
        return Written(cannot=f"I do not see how to put this right: {problem or 'no fault is known'}.")
    return Written(mended, f"Put right: {'; '.join(notes)}.")


def _nearest(word: str, names: Iterable[str]) -> str:
    """The one name that is meant: of the same words, or near in its letters; else the word as it is."""
    found = [name for name in names if split(name) == split(word) or near(name.lower(), word.lower())]
    return found[0] if len(found) == 1 else word
