"""Corrects typos in a SQL statement: in keywords, and in names of tables and columns."""

import re
from collections.abc import Iterable

from rehearsal.sql.schema import Tables
from rehearsal.sql.tokenizer import near, phrases, split
from rehearsal.sql.translation import Written

_PIECE = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|\w+|\s+|.", re.DOTALL)
_KEYWORDS = phrases(
    "select, from, where, group, by, order, having, limit, join, left, inner, outer, on, and, or, not, in, is, "
    "null, as, distinct, count, sum, avg, min, max, between, like, exists, union, case, when, then, else, end, "
    "desc, asc, offset, with, using"
)


def mend(sql: str, problem: str, tables: Tables) -> Written:
    """The corrected statement with a note of the changes, or the reason why it cannot be corrected."""
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
            keyword = next(
                (other for other in _KEYWORDS if near(word.lower(), other) and min(len(word), len(other)) > 1), ""
            )
            right = keyword.upper() or (word if pieces[at + 1 : at + 2] == ["("] else _nearest(word, columns))
        if right != word:
            notes.append(f"{word} is {right}")
            pieces = [right if other == word else other for other in pieces]
        before = right.lower()
    mended = "".join(pieces)
    misused = set(re.findall(r"(\w+)\s+by\b", mended.lower())) - {"group", "order", "partition"}
    if not notes or misused:
        return Written(cannot=f"I do not see how to put this right: {problem or 'no fault is known'}.")
    return Written(mended, f"Put right: {'; '.join(notes)}.")


def _nearest(word: str, names: Iterable[str]) -> str:
    """The only name with the same words or a near spelling; else the word unchanged."""
    matches = [name for name in names if split(name) == split(word) or near(name.lower(), word.lower())]
    return matches[0] if len(matches) == 1 else word
