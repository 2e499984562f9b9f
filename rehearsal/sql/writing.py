"""From a question to a statement. A question with a word that has no place in the grammar is refused, with examples."""

from dataclasses import dataclass, replace
from functools import lru_cache

from rehearsal.sql.fragments import Fragments
from rehearsal.sql.joins import Joins
from rehearsal.sql.lexicon import Lexicon
from rehearsal.sql.reader import MONTHS, Unclear
from rehearsal.sql.statement import write
from rehearsal.sql.synonyms import GROUPS
from rehearsal.sql.syntax import Query
from rehearsal.sql.tables import Tables
from rehearsal.sql.words import Token, near, tokens

NOT_UNDERSTOOD = "I couldn't turn that into a query."


@dataclass(frozen=True)
class Written:
    """A statement and what it does; or, in `cannot`, why there is none."""

    sql: str = ""
    explanation: str = ""
    cannot: str = ""


def write_sql(question: str, tables: Tables, dialect: str, *, previous_sql: str = "") -> Written:
    """One statement for the question, if every word of it is understood."""
    if not len(tables):
        return Written(cannot="No table is shown, so there is nothing to ask.")
    lexicon, joins = _prepared(tables.model_dump_json())
    why, furthest = "", 0
    for read in _spellings(tokens(question), lexicon):
        reader = Fragments(read, lexicon)
        try:
            query = reader.question()
            if query is not None:
                return Written(write(query, tables, joins, dialect), _explained(query))
        except Unclear as unclear:
            why = f" {str(unclear)[:1].upper()}{str(unclear)[1:]}."
        furthest = max(furthest, reader.furthest)
    rest = " ".join(token.text for token in read[furthest:])
    why = why or (f" I do not follow from “{rest}” on." if rest else "")
    return Written(cannot=missing(question, tables) or f"{NOT_UNDERSTOOD}{why} {examples(tables)}")


def missing(question: str, tables: Tables) -> str:
    """What the question is about and no table has, as far as these words are known; empty if there is nothing."""
    lexicon, _ = _prepared(tables.model_dump_json())
    words = [token.word for token in tokens(question)]
    known = lexicon.words()
    dates = any(column.date for table in tables.by_name.values() for column in table.columns)
    if not dates and ({*MONTHS, "when", "year"} - known) & set(words):
        return "No table here has dates."
    lacking = [word for word in words if word not in known and any((word,) in group for group in GROUPS)]
    return f"No table or column here holds “{lacking[0]}”." if lacking else ""


def examples(tables: Tables) -> str:
    """Questions that work over these tables."""
    return _examples(tables.model_dump_json())


@lru_cache(maxsize=8)
def _examples(key: str) -> str:
    tables = Tables.model_validate_json(key)
    found: list[str] = []
    for table in tables.by_name.values():
        rows = table.name.replace("_", " ")
        for column in table.columns:
            words = " ".join(column.words)
            if 1 < len(column.texts) < 30 and len(column.texts) != 3 and not (column.identity or column.date):
                found.insert(0, f"{rows} by {words}")
            elif column.number:
                found.append(f"average {words} of {rows}")
    good = [f"“{one}”" for one in found if _works(one, tables)]
    return f"Try: {', '.join(good[:3])}." if good else ""


def _works(question: str, tables: Tables) -> bool:
    lexicon, joins = _prepared(tables.model_dump_json())
    try:
        query = Fragments(tokens(question), lexicon).question()
        return query is not None and bool(write(query, tables, joins, "sqlite"))
    except Unclear:
        return False


@lru_cache(maxsize=8)
def _prepared(key: str) -> tuple[Lexicon, Joins]:
    tables = Tables.model_validate_json(key)
    return Lexicon(tables), Joins(tables)


def _spellings(read: list[Token], lexicon: Lexicon) -> list[list[Token]]:
    """The words as they are written, and with slips of the pen put right."""
    known = lexicon.words()
    mended = []
    for token in read:
        strange = token.kind == "word" and len(token.text) > 5 and token.word not in known
        close = [word for word in known if near(token.word, word)] if strange else []
        mended.append(replace(token, word=close[0]) if len(close) == 1 else token)
    return [read, mended] if mended != read else [read]


def _explained(query: Query) -> str:
    return f"{'Counts or measures' if query.measure else 'Lists'} rows{', in groups' if query.groups else ''}."
