"""Translates a question into SQL. A question with a word that the grammar cannot place is refused, with examples."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from rehearsal.sql.fragments import Fragments
from rehearsal.sql.joins import Joins
from rehearsal.sql.lexicon import Lexicon
from rehearsal.sql.reader import Unclear
from rehearsal.sql.schema import Tables
from rehearsal.sql.statement import write
from rehearsal.sql.synonyms import GROUPS
from rehearsal.sql.tokenizer import QuestionToken, near, tokens

NOT_UNDERSTOOD = "I couldn't turn that into a query."


@dataclass(frozen=True)
class Written:
    """A statement and what it does; or, in `cannot`, why there is none."""

    sql: str = ""
    explanation: str = ""
    cannot: str = ""


def write_sql(question: str, tables: Tables, dialect: str) -> Written:
    """One statement for the question, if every word of it is understood."""
    if not len(tables):
        return Written(cannot="No table is shown, so there is nothing to ask.")
    written = _written(question, tables, dialect)
    if written.sql:
        return written
    examples = _examples(tables.model_dump_json())
    return Written(cannot=missing(question, tables) or f"{NOT_UNDERSTOOD}{written.cannot}{examples}")


def missing(question: str, tables: Tables) -> str:
    """What the question is about and no table has, as far as these words are known; empty if there is nothing."""
    known = _prepared(tables.model_dump_json())[0].words()
    words = [token.word for token in tokens(question) if token.word not in known]
    lacking = [word for word in words if any((word,) in group for group in GROUPS)]
    return f"No table or column here holds “{lacking[0]}”." if lacking else ""


def _written(question: str, tables: Tables, dialect: str) -> Written:
    lexicon, joins = _prepared(tables.model_dump_json())
    why = ""
    for read in _spellings(tokens(question), lexicon):
        reader = Fragments(read, lexicon)
        try:
            if query := reader.question():
                return Written(
                    write(query, tables, joins, dialect), "It counts." if query.measure else "It lists rows."
                )
            why = f" I do not follow from “{' '.join(token.text for token in read[reader.furthest :])}” on."
        except Unclear as unclear:
            why = f" {unclear}."
    return Written(cannot=why)


@lru_cache(maxsize=8)
def _examples(key: str) -> str:
    """Three questions that work over these tables, each whole: a fragment would go on from the question before."""
    tables = Tables.model_validate_json(key)
    candidates = (
        f"Number of {table.name.replace('_', ' ')} by {' '.join(column.words)}"
        for table in tables.by_name.values()
        for column in table.columns
        if column.texts and "{" not in column.texts[0] and not (column.identity or column.date)
    )
    good = list(islice((f"“{example}”" for example in candidates if _written(example, tables, "sqlite").sql), 3))
    return f" Try: {', '.join(good)}." if good else ""


@lru_cache(maxsize=8)
def _prepared(key: str) -> tuple[Lexicon, Joins]:
    tables = Tables.model_validate_json(key)
    return Lexicon(tables), Joins(tables)


def _spellings(read: list[QuestionToken], lexicon: Lexicon) -> list[list[QuestionToken]]:
    """The words as they are written, and with slips of the pen put right."""
    known = lexicon.words()
    mended = []
    for token in read:
        strange = token.kind == "word" and len(token.text) > 5 and token.word not in known
        close = [word for word in known if near(token.word, word)] if strange else []
        mended.append(replace(token, word=close[0]) if len(close) == 1 else token)
    return [read, mended] if mended != read else [read]
