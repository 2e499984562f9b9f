"""Nouns of a question: rows of a table, with what stands before the head and after it."""

import re
from collections.abc import Iterator

from rehearsal.sql.ask import Best, Condition, Match, Measure, Not, Noun, Option, Related, Several, Spot, Sums
from rehearsal.sql.people import humans, own_kind, persons
from rehearsal.sql.text import Text, rule
from rehearsal.sql.values import columns, literal, person, titled, value, value_of
from rehearsal.sql.words import split

ARTICLES = ("the", "a", "an", "all", "any", "our", "my", "these", "those", "some", "of")
PLAIN = (*ARTICLES, "different", "distinct", "unique", "individual", "such", "single", "whole", "various")
_LEFT_OUT = {"no", "not", "without", "except", "excluding", "minus", "ignoring", "than", "nor"}
_WHOLE = ("person", "someone", "anyone", "everyone", "those", "one", "anybody", "everybody")


@rule
def noun(text: Text, at: int) -> Iterator[tuple[Noun, int]]:
    """A noun with all that follows it; the longest first."""
    for head, end in bare(text, at):
        human = head.table in humans(text.lexicon.tables)
        for conditions, stop in text.parse("after_noun", end, human=human):
            order = next((one for one in conditions if isinstance(one, Best)), head.best)
            rest = tuple(one for one in conditions if not isinstance(one, Best))
            yield Noun(head.table, (*head.conditions, *rest), order, head.value), stop


@rule
def bare(text: Text, at: int) -> Iterator[tuple[Noun, int]]:  # noqa: C901  one line a form
    """A noun with its adjectives, its owner and its own name."""
    start = text.skip(at, *PLAIN)
    yield from owned(text, start)
    for best, end in text.parse("best_before", start):
        for head, stop in bare(text, end):
            if head.best is None:
                yield Noun(head.table, head.conditions, best, head.value), stop
    different = any(text.word(place) in ("different", "distinct", "unique") for place in range(at, start))
    for adjectives, middle in _adjectives(text, start):
        for head, end in _rows_of(text, middle, adjectives):
            if different and not text.lexicon.tables[head.table].own_key_alone:
                continue  # rows of a list are all different: what they name is counted once, but which of it
            for names, stop in _called(text, end, head.table):
                yield head.having(*names), stop
            yield from _compound(text, end, head)
            yield head, end
    for adjectives, middle in _adjectives(text, start):
        yield from _by_value(text, middle, adjectives)
    if text.word(start) in _WHOLE:
        for table in persons(text.lexicon.tables):
            yield Noun(table), start + 1


def _rows_of(text: Text, at: int, adjectives: tuple[Condition, ...] = ()) -> Iterator[tuple[Noun, int]]:
    """Rows by the name of their table; where some of them are called like the table, only these are."""
    for table, end in text.things(at):
        source = text.lexicon.tables[table]
        said = tuple(token.word for token in text.tokens[at:end])
        kind = own_kind(text.lexicon.tables, table) if said == source.words else ()
        yield Noun(table, (*adjectives, *(() if kind and _others(text, kind[0]) else kind))), end


def _others(text: Text, kind: Match) -> bool:
    """Whether the question speaks of kinds, or of another kind of these rows as well, and not to leave it out."""
    spot, mine = kind.values[0][0]
    for at in range(len(text)):
        other = any(
            option[0] == spot and option[1] != mine for entry, _, _ in text.meanings(at) for option in entry.options
        )
        if any(spot in named for named, _ in text.attributes(at)):
            return True
        if other and not {text.word(at - 1), text.word(at - 2)} & _LEFT_OUT:
            return True
    return False


@rule
def owned(text: Text, at: int) -> Iterator[tuple[Noun, int]]:
    """`the customer's orders`, `Ada Grant's orders`."""
    for owner, end in _owner(text, at):
        if text.token(end).kind == "possessive":
            for head, stop in bare(text, end + 1):
                yield head.having(owner), stop


def _owner(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    for options, end in (*value(text, at), *person(text, at)):
        yield Match((options,)), end
    for adjectives, middle in _adjectives(text, at):
        for head, end in _rows_of(text, middle, adjectives):
            for names, stop in _called(text, end, head.table):
                yield Related(head.having(*names)), stop
            yield Related(head), end


def _compound(text: Text, at: int, first: Noun) -> Iterator[tuple[Noun, int]]:
    """`customer orders`: the second noun is the head."""
    for head, end in _rows_of(text, at):
        if head.table != first.table:
            yield head.having(Related(first)), end


def _adjectives(text: Text, at: int) -> Iterator[tuple[tuple[Condition, ...], int]]:
    """Values before the head, `non-` and `not` among them."""
    negated = text.after(at, "non", "not")
    named = titled(text, at)
    longest = max((end for _, end in text.things(at)), default=0)
    for options, after in (*value(text, negated or at), *named):
        if after < longest:
            continue  # the beginning of a table's name
        foreign, end = (options, after) in named, after
        if foreign:
            for rest, last in _adjectives(text, end):
                yield (Match((options,), foreign=True, sure=at > 0), *rest), last
            continue
        end += text.token(end).kind == "possessive"
        matches: list[tuple[Condition, int]] = [(Match((options,)), end)]
        if (again := text.after(end, "or", "and", ",")) and not negated:
            matches = [(Match((options, other)), stop) for other, stop in value(text, again)] + matches
        for match, stop in matches:
            first: Condition = Not(match) if negated else match
            for rest, last in _adjectives(text, stop):
                yield (first, *rest), last
    yield (), at


def _called(text: Text, at: int, table: str) -> Iterator[tuple[tuple[Condition, ...], int]]:
    """What stands after a noun and names its rows: `order #W1`, `customer Ada Grant`, `product "Tent"`."""
    source = text.lexicon.tables[table]
    begin = text.after(at, "named|called|with the name|with name|titled|entitled|number|id|with id")
    if source.title:
        title: tuple[Spot, ...] = (Spot(table, source.title),)
        if begin:
            for match, end in value_of(text, begin, title):
                yield (match,), end
            for written, end in literal(text, begin) if source.full_name else ():
                yield (either_name(table, source.full_name, written),), end
        elif text.token(at).kind == "quoted" or text.token(at).capital:
            for match, end in value_of(text, at, title):
                yield (match,), end
    yield from _keyed(text, at, begin, table)


def _keyed(text: Text, at: int, begin: int, table: str) -> Iterator[tuple[tuple[Condition, ...], int]]:
    """The row of this key."""
    source = text.lexicon.tables[table]
    if source.own_key and text.token(begin or at).kind in ("id", "number", "quoted"):
        key = Spot(table, (source.own_key,))
        for options, end in value(text, begin or at):
            mine = tuple(option for option in options if option[0] == key)
            if mine:
                yield (Match((mine,)),), end
        for match, end in value_of(text, begin, (key,)) if begin else ():
            yield (match,), end


def either_name(table: str, names: tuple[str, ...], written: str) -> Match:
    """One name of a person in two parts: the first or the last."""
    return Match(tuple(((Spot(table, (name,)), (written,)),) for name in names))


def _by_value(text: Text, at: int, adjectives: tuple[Condition, ...]) -> Iterator[tuple[Noun, int]]:
    """A noun that is a value: `refunds`, `tents`, `gift cards`; or the last word of several values: `cards`."""
    for entry, _, end in text.meanings(at):
        if entry.things or text.token(at).kind != "word":
            continue
        for option in entry.options:
            if isinstance(option[1][0], str) and not _place(text, option[0]):
                for table, named in _rows_called(text, (option,)):
                    yield Noun(table, (*adjectives, Match(((named,),))), value=True), end
    for options, end in titled(text, at):
        for table, option in _rows_called(text, options):
            yield Noun(table, (*adjectives, Match(((option,),))), value=True), end
    yield from _by_last_word(text, at, adjectives)


def _rows_called(text: Text, options: tuple[Option, ...]) -> Iterator[tuple[str, Option]]:
    """Rows that a title stands for: those that have it, and those without a title that belong to one that has it."""
    tables = text.lexicon.tables
    for option in options:
        yield option[0].table, option
        named = option[0].columns == tables[option[0].table].title
        for table in tables.by_name.values() if named else ():
            if not table.title and any(column.references.startswith(f"{option[0].table}.") for column in table.columns):
                yield table.name, option


def _by_last_word(text: Text, at: int, adjectives: tuple[Condition, ...]) -> Iterator[tuple[Noun, int]]:
    """`cards`, where several values of one column are some kind of card."""
    word = text.word(at)
    for table in text.lexicon.tables.by_name.values():
        for column in table.columns:
            spot = Spot(table.name, (column.name,))
            alike = [one for one in column.texts if split(one)[1:][-1:] == (word,) and not re.search(r"\d", one)]
            if len(column.texts) < 8 and len(alike) > 1:
                yield (
                    Noun(table.name, (*adjectives, Match(tuple(((spot, (one,)),) for one in alike))), value=True),
                    at + 1,
                )


def _place(text: Text, spot: Spot) -> bool:
    return text.lexicon.tables.column(spot.table, spot.columns[0]).codes


@rule
def related(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """So many rows of a noun: `3 orders`, `more than two items`, `at least one pending order`, `no payments`."""
    if end := text.after(at, "no|not any|never any|zero|not a single|not a|not an"):
        for head, stop in noun(text, end):
            yield Related(head, "=", (0,)), stop
    for against, end in text.parse("comparison", at):
        for head, stop in noun(text, text.skip(end, "different", "distinct", "or")):
            yield Related(head, *against), stop
    yield from _worth(text, at)
    for head, end in noun(text, text.after(at, "at least a", "at least an", "multiple") or at):
        several = text.word(at) == "multiple"
        yield Related(head, ">", (1,)) if several else Related(head), end
        again = text.after(end, "and|and also|and a|or|, and")
        for rest, stop in related(text, again) if again else ():
            yield Several((Related(head), rest), either=text.word(end) == "or"), stop


def _worth(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """`items worth more than 700 dollars in total`."""
    for head, end in noun(text, at):
        if worth := text.after(end, "worth|costing|totalling|totaling|adding up to|with a total of|for"):
            for against, stop in text.parse("comparison", worth):
                if last := text.after(stop, "in total|altogether|together|overall|combined"):
                    yield Sums(Measure("sum", head, columns(text.lexicon.tables, "money")), *against), last


@rule
def anything(text: Text, at: int) -> Iterator[tuple[None, int]]:
    """A word for any object at all, or none."""
    yield (
        None,
        text.after(at, "anything|something|any|at all|nothing|any at all|anything at all") or at,
    )


@rule
def subject(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """Who does or has something: a noun, or a row called by its name or id."""
    for head, end in noun(text, at):
        if not head.value or next(text.meanings(text.skip(at, *PLAIN)), None):
            yield Related(head), end
    for options, end in (*value(text, at), *person(text, at)):
        yield Match((options,)), end
    human = set(humans(text.lexicon.tables))
    for options, end in titled(text, at):
        yield Match((tuple(option for option in options if option[0].table in human),), foreign=True), end
