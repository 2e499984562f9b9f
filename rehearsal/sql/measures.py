"""Measures in a question: numbers of rows, totals, averages, extremes; and what is best by them."""

from collections.abc import Iterator

from rehearsal.sql.ask import Best, Measure, Noun, Spot
from rehearsal.sql.dates import dated
from rehearsal.sql.nouns import noun
from rehearsal.sql.people import own_kind
from rehearsal.sql.tables import Tables
from rehearsal.sql.text import Text, rule
from rehearsal.sql.thesaurus import VERBS, deeds
from rehearsal.sql.values import columns, textual
from rehearsal.sql.words import split

FUNCTIONS = {
    "sum": ("total", "sum of", "total of", "combined", "the sum of", "overall", "summed", "total sum of"),
    "avg": ("average", "mean", "avg", "average of", "the average", "mean of"),
    "max": ("maximum", "max", "highest", "largest", "greatest", "biggest", "top", "maximum of"),
    "min": ("minimum", "min", "lowest", "smallest", "least", "minimum of"),
}
_HIGH = ("the most|most|highest|largest|greatest|biggest|the highest|maximum|top|a most",)
_LOW = ("fewest", "least", "lowest", "smallest", "the fewest", "the least", "the lowest", "minimum")
_BIG, _SMALL = ("highest|largest|greatest|biggest",), ("lowest|smallest",)
_ADJECTIVES = (
    ("money", True, ("most expensive", "priciest", "costliest", "most costly", "dearest")),
    ("money", False, ("cheapest", "least expensive", "least costly", "most affordable")),
    ("date", True, ("newest", "latest", "most recent", "most recently", "last", "youngest")),
    ("date", False, ("oldest", "earliest", "first", "least recent")),
    ("length", True, ("longest",)),
    ("length", False, ("shortest",)),
)
_POPULAR = ("most popular", "best selling", "bestselling", "most sold", "most in demand")
_UNPOPULAR = ("least popular", "worst selling", "least sold", "least ordered")
_LENGTH = {"page", "length", "duration", "minute", "runtime"}


@rule
def function(text: Text, at: int) -> Iterator[tuple[str, int]]:
    """sum, avg, max or min."""
    begin = text.skip(at, "the", "a")
    for name, words in FUNCTIONS.items():
        if end := text.after(begin, *words):
            yield name, text.skip(end, "the", "of", "value")


@rule
def quantity(text: Text, at: int) -> Iterator[tuple[tuple[Spot, ...], int]]:
    """A column that holds numbers: those that are measured, not those that name rows."""
    for spots, end in text.attributes(text.skip(at, "the|of|its|their|unit|all|our")):
        numbers = tuple(spot for spot in spots if measured(text.lexicon.tables, spot))
        if numbers:
            yield numbers, end


def measured(tables: Tables, spot: Spot) -> bool:
    column = tables.column(spot.table, spot.columns[0])
    return not textual(tables, spot) and column.number and not column.identity


@rule
def measure(text: Text, at: int) -> Iterator[tuple[Measure, int]]:
    """A number about the rows of a noun: `number of orders`, `average price of variants`, `total spending`."""
    begin = text.skip(at, "the|a|their|its|of")
    if end := text.after(begin, "number of|count of|total number of|how many|total count of|amount of"):
        different = text.after(end, "different", "distinct", "unique")
        for head, stop in noun(text, different or end):
            yield Measure("count", head), stop
    for table, end in text.things(begin):
        if stop := text.after(end, "count"):
            yield Measure("count", Noun(table)), stop
    yield from _calculated(text, begin)
    if end := text.after(begin, "amount spent|amount paid|money spent|spending|amount of money spent"):
        for paid in spending(text.lexicon.tables, text):
            yield paid, end


def _calculated(text: Text, at: int) -> Iterator[tuple[Measure, int]]:
    """A function of a column, of what was spent, of numbers of rows."""
    for name, end in function(text, at):
        yield from _of_column(text, end, name)
        if name == "sum" and (stop := text.after(end, "spending|spent|spend|amount spent|amount paid|paid")):
            for paid in spending(text.lexicon.tables, text):
                yield paid, stop
        if name == "avg" and (begin := text.after(end, "number of", "count of")):
            yield from _average_number(text, begin)


def _of_column(text: Text, at: int, name: str) -> Iterator[tuple[Measure, int]]:  # noqa: C901  one line a form
    """The function of a column, of whose rows there may be a noun: after it or before."""
    for spots, end in quantity(text, at):
        for stop in [after] if (after := text.after(end, "of|for|across|in|among|on|left on|from|by")) else []:
            for head, last in noun(text, stop):
                yield Measure(name, head, spots), last
        if text.word(end) != "of" or text.word(end + 1) in ("each", "every"):
            yield Measure(name, None, spots), end
    for head, end in noun(text, at):
        own = tuple(spot for spot in columns(text.lexicon.tables, "money") if spot.table == head.table)
        if len(own) == 1 and len(split(own[0].columns[0])) == 1:
            yield Measure(name, head, own), end
    for head, end in text.parse("bare", at):
        for spots, stop in quantity(text, text.skip(end, "'s")):
            for rest, last in text.parse("after_noun", stop):
                if not any(isinstance(one, Best) for one in rest):
                    yield Measure(name, head.having(*rest), spots), last


def _average_number(text: Text, at: int) -> Iterator[tuple[Measure, int]]:
    """`average number of items per order`."""
    for head, end in noun(text, at):
        if stop := text.after(end, "per|for each|in each|for every|of each|by|in an|in a|a"):
            for per, last in noun(text, stop):
                yield Measure("avg", head, per=per), last


def spending(tables: Tables, text: Text) -> Iterator[Measure]:
    """What was paid: the money of the table of payments, without what was paid back."""
    for word in deeds("paid"):
        entry = text.lexicon.entries.get((word,))
        for table in entry.things if entry else ():
            money = tuple(spot for spot in columns(tables, "money") if spot.table == table)
            if len(money) == 1:
                yield Measure("sum", Noun(table, own_kind(tables, table)), money)
                return


@rule
def best_before(text: Text, at: int) -> Iterator[tuple[Best, int]]:
    """A superlative before its noun, with a number if there is one: `5 cheapest`, `most popular`, `latest`."""
    tables = text.lexicon.tables
    begin = text.after(at, "top", "first") or at
    amount = text.number(begin)
    limit = amount if isinstance(amount, int) else None
    begin = begin + 1 if limit else at
    for kind, descending, adjectives in _ADJECTIVES:
        if end := text.after(begin, *adjectives):
            after = text.number(end)
            stop, most = (end + 1, after) if limit is None and isinstance(after, int) else (end, limit)
            spots = {
                "money": columns(tables, "money"),
                "date": dated(tables, born=not descending),
                "length": _lengths(tables),
            }[kind]
            if spots:
                yield Best(spots, descending, most or 1), stop
    for most_words, descending in ((_HIGH, True), (_LOW, False)):
        if (end := text.after(begin, *most_words)) and text.word(end) in VERBS:
            yield from (
                (Best(Measure("count", done, rows=True), descending, limit or 1), end + 1) for done in deed(text, end)
            )
    yield from _biggest(text, begin, limit or 1)
    for words, descending in ((_POPULAR, True), (_UNPOPULAR, False)):
        if end := text.after(begin, *words):
            yield from ((Best(Measure("count", done, rows=True), descending, limit or 1), end) for done in _sold(text))


def _biggest(text: Text, at: int, limit: int) -> Iterator[tuple[Best, int]]:
    """`biggest refunds`: rows with one amount of their own."""
    for words, descending in ((_BIG, True), (_SMALL, False)):
        if end := text.after(at, *words):
            for table in _named(text, end):
                own = tuple(spot for spot in columns(text.lexicon.tables, "money") if spot.table == table)
                if len(own) == 1 and len(split(own[0].columns[0])) == 1:
                    yield Best(own, descending, limit), end


def _named(text: Text, at: int) -> set[str]:
    """The tables whose rows are named here, by their name or by a value: `refunds`."""
    found = {option[0].table for entry, _, _ in text.meanings(at) if not entry.spots for option in entry.options}
    return {table for table, _ in text.things(at)} or found


def _sold(text: Text) -> Iterator[Noun]:
    """What tells how often a thing was wanted."""
    for verb in ("bought", "borrowed", "rented"):
        for word in deeds(verb):
            entry = text.lexicon.entries.get((word,))
            if entry and entry.things:
                yield from (Noun(table) for table in entry.things)
                return


def deed(text: Text, at: int) -> Iterator[Noun]:
    """The rows that tell of what a verb does: orders for `bought`."""
    for word in deeds(text.word(at)):
        entry = text.lexicon.entries.get((word,))
        if entry and entry.things:
            least = min(entry.things.values())
            tables = text.lexicon.tables
            yield from (Noun(table, own_kind(tables, table)) for table, rank in entry.things.items() if rank == least)
            return


@rule
def best_by(text: Text, at: int) -> Iterator[tuple[Best, int]]:
    """A superlative with what it is about: `the most orders`, `the highest average price`, `the lowest balance`."""
    for words, descending in ((_HIGH, True), (_LOW, False)):
        if end := text.after(text.skip(at, "the"), *words):
            for by, stop in measure(text, end):
                yield Best(by, descending, 1), stop
            for spots, stop in quantity(text, end):
                yield Best(spots, descending, 1), stop
            for head, stop in text.parse("bare", end):
                for spots, last in quantity(text, stop):
                    yield Best(Measure("max" if descending else "min", head, spots), descending, 1), last
            for head, stop in noun(text, text.skip(end, "different", "distinct")):
                yield from ((Best(by, descending, 1), stop) for by in _size(text, end - 1, head, descending))


def _size(text: Text, at: int, head: Noun, descending: bool) -> Iterator[Measure]:
    """The most rows are counted; the biggest one is so by its amount, where it has but one."""
    if not text.after(at, *_BIG, *_SMALL):
        yield Measure("count", head)
        return
    own = tuple(spot for spot in columns(text.lexicon.tables, "money") if spot.table == head.table)
    if len(own) == 1:
        yield Measure("max" if descending else "min", head, own)


def _lengths(tables: Tables) -> tuple[Spot, ...]:
    return tuple(
        Spot(table.name, (column.name,))
        for table in tables.by_name.values()
        for column in table.columns
        if column.number and _LENGTH & set(split(column.name))
    )
