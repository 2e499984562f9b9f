"""Names and values as SQL writes them, in the two dialects."""

import re

from rehearsal.sql.ask import Value
from rehearsal.sql.tables import Column
from rehearsal.sql.words import singular

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")
_WORDS = """_ all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
    current_date current_time current_timestamp current_user default deferrable desc distinct do else end except
    exists false fetch for foreign from grant group having in index initially inner intersect into is join key
    lateral leading left like limit localtime natural not null offset on only or order outer over primary
    references returning right select session_user some symmetric table then to trailing transaction true union
    unique update user using values when where window with"""
_RESERVED = frozenset(_WORDS.split())


def name(text: str) -> str:
    """A name, in quotes where it needs them."""
    return text if _PLAIN.match(text) and text not in _RESERVED else '"' + text.replace('"', '""') + '"'


def literal(value: Value, dialect: str) -> str:
    if isinstance(value, bool):
        return str(value).upper() if dialect == "postgres" else str(int(value))
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value}"


def equal(column: str, info: Column, values: list[Value], dialect: str) -> str:
    """The column holds one of these; a text that no sample shows is compared without regard to case."""
    sure = info.identity or info.codes
    known = [value for value in values if sure or not isinstance(value, str) or value in info.samples]
    strange = [form for value in values if value not in known for form in _forms(str(value).lower())]
    parts = []
    for texts, left in (
        ([literal(value, dialect) for value in known], column),
        ([literal(form, dialect) for form in strange], f"LOWER({column})"),
    ):
        if texts:
            parts.append(f"{left} = {texts[0]}" if len(texts) == 1 else f"{left} IN ({', '.join(texts)})")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"


def _forms(text: str) -> list[str]:
    """A name as it was written, and in the singular."""
    start, space, last = text.rpartition(" ")
    return list(dict.fromkeys((text, f"{start}{space}{singular(last)}")))


def unit(column: str, info: Column, unit: str, dialect: str) -> str:
    """The month, the year or the day of a column of days, as text."""
    if info.year:
        return column
    size = {"year": 4, "month": 7, "day": 10}[unit]
    if dialect == "postgres" and re.search(r"date|timestamp", info.type, re.IGNORECASE):
        return f"TO_CHAR({column}, '{'YYYY-MM-DD'[:size]}')"
    return f"SUBSTR({column}, 1, {size})"
