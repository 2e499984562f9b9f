"""From a question to a statement: the reading that needs the fewest joins; a refusal where words are left over."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

from rehearsal.sql.ask import Ask
from rehearsal.sql.canonical import canonical
from rehearsal.sql.fragments import leans
from rehearsal.sql.joins import Joins
from rehearsal.sql.lexicon import Lexicon
from rehearsal.sql.questions import questions
from rehearsal.sql.reading import doubt
from rehearsal.sql.reflected import unreflected
from rehearsal.sql.scopes import Unclear
from rehearsal.sql.statement import write
from rehearsal.sql.tables import Tables
from rehearsal.sql.text import Text
from rehearsal.sql.vocabulary import FUNCTION
from rehearsal.sql.words import NUMBERS

CHOICES = 8  # of meanings of ambiguous nouns that are tried


@dataclass(frozen=True)
class Written:
    """A statement and what it does; or, `cannot`, why there is none."""

    sql: str = ""
    explanation: str = ""
    cannot: str = ""


@dataclass(frozen=True)
class Reading:
    sql: str
    cost: float
    ask: Ask


def write_sql(question: str, tables: Tables, dialect: str, *, previous_sql: str = "") -> Written:
    """One statement for the question, if every word of it is understood.

    Without a `previous_sql` it must not lean on a question before it.
    """
    if not len(tables):
        return Written(cannot="No table is shown, so there is nothing to ask.")
    lexicon, joins = _known(tables)
    if not previous_sql and leans(question, Text(question, lexicon)):
        return Written(cannot="It goes on from a question that was not answered; please ask it in full.")
    found: list[Reading] = []
    why = ""
    for text in _texts(question, lexicon):
        for ask in questions(text):
            try:
                reading = Reading(*write(ask, tables, joins, dialect), ask)
            except Unclear as unclear:
                why = why or str(unclear)
                continue
            if lost := unreflected(question, reading.sql, lexicon):
                why = why or lost
            else:
                found.append(reading)
    if not found:
        return Written(cannot=_unknown(question, lexicon) or why or "I do not understand how this question is built.")
    least = min(reading.cost for reading in found)
    best = [reading for reading in found if reading.cost - least < 0.1]
    heads = {reading.ask.noun.table: reading.sql for reading in reversed(best)}
    if len(heads) > 1 and len(set(heads.values())) > 1:
        return Written(cannot=f"The question may be about {' or about '.join(sorted(heads))}; please say which.")
    missing = doubt(question, best[0].sql, lexicon)
    return Written(cannot=missing) if missing else Written(best[0].sql, _explained(best[0]))


@lru_cache(maxsize=8)
def _prepared(key: str) -> tuple[Lexicon, Joins]:
    tables = Tables.model_validate_json(key)
    return Lexicon(tables), Joins(tables)


def _known(tables: Tables) -> tuple[Lexicon, Joins]:
    return _prepared(tables.model_dump_json())


def _texts(question: str, lexicon: Lexicon) -> Iterator[Text]:
    """The question once for each table that its ambiguous nouns may stand for."""
    question = canonical(question)
    text = Text(question, lexicon)
    doubtful = {}
    for at in range(len(text)):
        for entry, words, _ in text.meanings(at):
            least = min(entry.things.values(), default=0)
            close = sorted(table for table, rank in entry.things.items() if rank == least)
            if len(close) > 1:
                doubtful[words] = close
    for chosen in islice(product(*doubtful.values()), CHOICES):
        yield Text(question, lexicon, dict(zip(doubtful, chosen, strict=True)))


def _unknown(question: str, lexicon: Lexicon) -> str:
    """The words that nothing is known of, in a sentence; "" if all are known."""
    text = Text(canonical(question), lexicon)
    known = lexicon.words() | FUNCTION | set(NUMBERS)
    strange = [token.text for token in text.tokens if token.kind == "word" and token.word not in known]
    return (
        f"I do not know what {', '.join(repr(word) for word in dict.fromkeys(strange))} means here." if strange else ""
    )


def _explained(reading: Reading) -> str:
    ask = reading.ask
    about = f"Counts or measures rows of {ask.noun.table}" if ask.measures else f"Lists rows of {ask.noun.table}"
    return f"{about}{', in groups' if ask.groups else ''}."
