"""A faulty statement in pieces: its names and keywords, slips in them, quotes and parentheses left open."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from rehearsal.sql.tables import Tables
from rehearsal.sql.thesaurus import phrases
from rehearsal.sql.words import near, split

_PIECE = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|\w+(?:\.\w+)?|<=|>=|<>|!=|\s+|.", re.DOTALL)
_KEYWORDS = [
    "select",
    "from",
    "where",
    "group",
    "by",
    "order",
    "having",
    "limit",
    "join",
    "left",
    "inner",
    "outer",
    "on",
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "as",
    "distinct",
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "between",
    "like",
    "exists",
    "union",
    "case",
    "when",
    "then",
    "else",
    "end",
    "desc",
    "asc",
    "offset",
    "with",
]
_PARTS = ("from", "where", "group", "order", "having", "limit", "join", "left", "inner", "on")
_OTHERS = """lower upper round coalesce nullif cast substr strftime date length abs ilike true false integer text real
    float numeric all any over partition cross full right using extract year month trim replace total ifnull
    to_char except intersect row_number rank first last nulls varchar decimal interval now current_date"""
_FUNCTIONS = frozenset(_OTHERS.split())


@dataclass(frozen=True)
class Work:
    """The statement in pieces, and what was put right so far."""

    pieces: tuple[str, ...]
    done: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        return "".join(self.pieces)

    def words(self) -> list[tuple[int, str]]:
        """The names and keywords with their places; no texts, no comments."""
        return [(at, one) for at, one in enumerate(self.pieces) if re.match(r"[A-Za-z_]", one)]

    def put(self, at: int, new: str, told: str) -> "Work":
        return Work((*self.pieces[:at], new, *self.pieces[at + 1 :]), (*self.done, told))


def cut(sql: str) -> tuple[str, ...]:
    return tuple(_PIECE.findall(sql))


def known_words(tables: Tables) -> set[str]:
    columns = {column.lower() for table in tables.by_name.values() for column in table.names}
    return columns | {name.lower() for name in tables.by_name} | set(_KEYWORDS) | _FUNCTIONS


def aliases_of(sql: str) -> dict[str, str]:
    """Alias (or name) of each table in the statement, and the table."""
    keys = "|".join(_KEYWORDS)
    found = {}
    pattern = rf'\b(?:from|join)\s+"?(\w+)"?(?:\s+(?:as\s+)?(?!(?:{keys})\b)(\w+))?'
    for match in re.finditer(pattern, sql, re.IGNORECASE):
        slip = match[2] and len(match[2]) > 2 and any(near(match[2].lower(), one) for one in _PARTS)
        found[match[1] if slip else match[2] or match[1]] = match[1]
    for match in re.finditer(r"\bas\s+\"?(\w+)", sql, re.IGNORECASE):
        found.setdefault(match[1], "")
    return found


def nearest(word: str, names: Iterable[str]) -> str:
    """The one name that is meant: near in its letters, of the same words, or of the same meaning."""
    names = list(dict.fromkeys(names))
    tests: tuple[Callable[[str], bool], ...] = (
        lambda name: name.lower() == word.lower(),
        lambda name: split(name) == split(word) or "".join(split(name)) == "".join(split(word)),
        lambda name: near(name.lower(), word.lower()),
        lambda name: split(word) in phrases(split(name)),
        lambda name: any(near("".join(split(word)), "".join(other)) for other in phrases(split(name)) if len(word) > 5),
        lambda name: _twice_near(name.lower(), word.lower()),
        lambda name: len(word) > 3 and (split(name)[-1:] == split(word) or split(name)[:1] == split(word)),
    )
    for test in tests:
        found = [name for name in names if test(name)]
        if found:
            return found[0] if len(found) == 1 else ""
    return ""


def _twice_near(left: str, right: str) -> bool:
    """Whether two slips at most part two long words."""
    if min(len(left), len(right)) < 6:
        return False
    shorter = [left[:at] + left[at + 1 :] for at in range(len(left))]
    return any(
        near(one, right) or any(near(one, right[:at] + right[at + 1 :]) for at in range(len(right))) for one in shorter
    )


def marks(work: Work, tables: Tables) -> Work:
    """A quote or a parenthesis that is not closed, where there is one place for it."""
    sql = work.sql
    if "'" in work.pieces:
        at = work.pieces.index("'")
        rest = "".join(work.pieces[at + 1 :])
        text = re.match(r"[^\s,()]+(?: [A-Z][\w-]*)*|[^,()]*$", rest)
        if text and text[0]:
            sql = f"{''.join(work.pieces[:at])}'{text[0].strip()}'{rest[text.end() :]}"
            work = Work(cut(sql), (*work.done, "a quote closed"))
    opened = work.pieces.count("(") - work.pieces.count(")")
    if opened == 1:
        before = re.sub(
            r"(?<=\w)\((\s*(?:\*|\w+(?:\.\w+)?))\s+(?=(?:as|from|desc|asc|>|<|=)\b|[<>=])",
            r"(\1) ",
            work.sql,
            count=1,
            flags=re.IGNORECASE,
        )
        closed = before if before.count("(") == before.count(")") else f"{work.sql})"
        work = Work(cut(closed), (*work.done, "a parenthesis closed"))
    elif opened == -1 and work.pieces[-1] == ")":
        work = Work(work.pieces[:-1], (*work.done, "a parenthesis too many left out"))
    return work


def keywords(work: Work, tables: Tables) -> Work:
    """SELCT, FORM, WEHRE, GROUP BU."""
    known = known_words(tables)
    aliases = {alias.lower() for alias in aliases_of(work.sql)}
    before = ""
    for at, word in work.words():
        lower = word.lower()
        strange = lower not in known and lower not in aliases and "." not in word and before != "as"
        if strange and (len(word) > 2 or before in ("group", "order")):
            close = [one for one in _KEYWORDS if near(lower, one) and (len(one) > 2 or one == "by")]
            if len(close) == 1:
                work = work.put(at, close[0].upper(), f"{word} is {close[0].upper()}")
                lower = close[0]
        if before in ("group", "order") and lower != "by" and not near(lower, "by"):
            work = work.put(at, f"BY {work.pieces[at]}", f"{before.upper()} BY")
        before = lower
    return replace(work, pieces=cut(work.sql))
