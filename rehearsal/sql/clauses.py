"""What stands after a noun: phrases with a preposition, relative clauses, predicates, comparisons."""

from collections.abc import Iterator
from dataclasses import replace

from rehearsal.sql.ask import Best, Blank, Compare, Condition, Match, Not, Related, Several, Spot, Sums
from rehearsal.sql.dates import TIMES, about, dated, when
from rehearsal.sql.measures import best_by, measure, quantity
from rehearsal.sql.nouns import noun, related
from rehearsal.sql.text import Text, rule
from rehearsal.sql.thesaurus import PLACE
from rehearsal.sql.values import (
    columns,
    compare,
    comparison,
    dollars,
    literal,
    people,
    textual,
    titled,
    value,
    value_of,
    values,
)

After = tuple[Condition | Best, ...]
_PLACE = ("in", "from", "to", "at", "inside", "within", "based in", "located in")
_BELONG = ("of|for|by|from|in|on|via|using|through|to|at|with|belonging to|within",)
_EXCEPT = (
    "except|except for|excluding|other than|not in|not from|outside|outside of|not to|not with|but not|"
    "but not in|apart from|not|except in|besides|not for|not by",
)


@rule
def after_noun(text: Text, at: int, *, human: bool = True) -> Iterator[tuple[After, int]]:
    """All conditions in a row, joined or not; the most of them first, none at last. `human`: of people."""
    start = text.skip(at, ",", "(", ")")
    start = text.after(start, "and also|and are|and is|and|but|only|but only") or start
    for first, end in condition(text, start, human=human):
        for rest, stop in after_noun(text, end, human=human):
            if not (rest and (apart(first, rest[0]) or (text.skip(end, ",") == end and _nearer(first, rest[0])))):
                yield (first, *rest), stop
        if begin := text.after(end, "or", ", or"):
            for other, stop in condition(text, begin, human=human):
                if not isinstance(first, Best) and not isinstance(other, Best):
                    for rest, last in after_noun(text, stop, human=human):
                        yield (Several((first, other), either=True), *rest), last
    yield (), at


def apart(first: Condition | Best, then: Condition | Best) -> bool:
    """`in 2023 but not in 2024`: a time is not another time anyway, so that two rows are meant."""
    days = isinstance(then, Not) and isinstance(then.part, Compare) and then.part.op == "days"
    return days and (isinstance(first, Related) or (isinstance(first, Compare) and first.op == "days"))


def _nearer(first: Condition | Best, then: Condition | Best) -> bool:
    """Whether a place may as well be told of the rows right before it: `customers with orders in Texas`."""
    if not isinstance(first, Related) or first.noun.value:
        return False
    if isinstance(then, Compare) and then.op == "days":
        return any(spot.table == first.noun.table for spot in then.spots)
    if not isinstance(then, Match) or then.sent:
        return False
    placed = any(isinstance(one, Match) for one in first.noun.conditions)
    return not placed and all(
        any(spot.table == first.noun.table and spot.columns[0].endswith(PLACE) for spot, _ in options)
        for options in then.values
    )


@rule
def condition(text: Text, at: int, *, human: bool = True) -> Iterator[tuple[Condition | Best, int]]:
    """One condition of any kind."""
    yield from prepositional(text, at)
    yield from with_phrase(text, at)
    yield from whose(text, at)
    if begin := text.after(at, "that", "which", *(("who", "whom") if human else ())):
        yield from text.parse("predicate", begin)
    yield from text.parse("participle", at)
    yield from text.parse("object_clause", at)
    yield from money(text, at)
    whole = text.after(at, "for all|in all|of all|across all|for every|in every")
    named = [end for _, end in text.attributes(whole)] if whole else []
    if end := text.after(named[0] if named else at, *_EXCEPT):
        for part, stop in (*prepositional(text, end), *values(text, text.skip(end, "those", "that", "are"))):
            if not isinstance(part, Best):
                yield Not(part), stop


@rule
def prepositional(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """`in Texas`, `of customers in Texas`, `with status pending`, `by Ada Grant`, `in 2024`."""
    tables = text.lexicon.tables
    for days, end in when(text, at):
        if spots := dated(tables):
            yield about(spots, days), end
    end = text.after(at, *_BELONG)
    if end and not (text.word(at) == "with" and text.word(end) in ("their", "its", "his", "her")):
        if spelled := text.after(end, "either"):
            end = spelled
        for found, stop in values(text, end):
            match = replace(found, sent=text.word(at) == "to")
            comma = text.skip(stop, ",") if text.word(at) in _PLACE else stop
            for second, last in values(text, comma) if comma != stop else ():
                yield Several((match, second)), last
            yield match, stop
        yield from named_column(text, end)
        strange = text.word(at) in _PLACE and not any(entry.options for entry, _, _ in text.meanings(end))
        for head, stop in noun(text, end):
            if not (head.value and strange):  # a place that no sample shows is no title
                yield Related(head), stop
    yield from _of_names(text, at)


def _of_names(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """People, things and places by names that no sample shows."""
    tables = text.lexicon.tables
    if end := text.after(at, *_BELONG):
        if text.word(at) in ("of", "for", "by", "from", "to", "belonging"):
            yield from people(text, text.skip(end, "user", "the"))
        if text.word(at) in ("of", "for", "with"):
            yield from ((Match((options,), foreign=True), stop) for options, stop in titled(text, end))
    if (
        (end := text.after(at, *_PLACE))
        and text.word(at) in ("in", "to", "within", "inside")
        and (place := columns(tables, "place"))
    ):
        cities = tuple(spot for spot in place if "city" in spot.columns[0]) or place
        for written, stop in literal(text, end) if text.word(end) not in TIMES else ():
            yield Match((tuple((spot, (written,)) for spot in cities),)), stop


@rule
def named_column(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """A column and what it is: `status pending`, `a price over 50`, `the last name Grant`, `the city of Boston`."""
    for spots, end in text.attributes(text.skip(at, "a|an|the|their|its|either")):
        begin = text.skip(end, "of|is|are|was|=|to|being|equal|that|called|named|were|be")
        negated = text.after(begin, "not|other than|<>|!=|not equal to|different from")
        numbers = tuple(spot for spot in spots if _numeric(text, spot))
        for against, stop in comparison(text, begin) if numbers else ():
            yield compare(numbers, against), stop
        for match, stop in value_of(text, negated or begin, spots):
            yield Not(match) if negated else match, stop
        yield from _alike(text, begin, spots)
        if stop := text.after(begin, "missing|empty|null|unknown|not set|not known|not given"):
            yield Blank(spots), stop
        if stop := text.after(begin, "not null|known|set|not empty|given"):
            yield Blank(spots, filled=True), stop


def _alike(text: Text, at: int, spots: tuple[Spot, ...]) -> Iterator[tuple[Condition, int]]:
    """`contains "Bag"`, `starts with A`: a part of a text, in no known case."""
    plain = tuple(spot for spot in spots if len(spot.columns) == 1 and textual(text.lexicon.tables, spot))
    for words, form in (
        (("contain", "contains", "containing", "include", "including", "like"), "%{}%"),
        (("start with", "starting with", "begin with", "beginning with", "starting in"), "{}%"),
        (("end with", "ending with", "end in", "ending in"), "%{}"),
    ):
        end = text.after(at, *words)
        end = text.after(end, "the letter", "the word", "letter") or end
        for written, stop in literal(text, end) if end and plain else ():
            yield Compare(plain, "like", (form.format(written),)), stop


def _numeric(text: Text, spot: Spot) -> bool:
    return text.lexicon.tables.column(spot.table, spot.columns[0]).number


@rule
def whose(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """`whose status is pending`, `where the price is over 50`, `whose number of orders is above 3`."""
    if end := text.after(at, "whose|where|where the|with|for which the|if"):
        for found, stop in named_column(text, end):
            again = text.after(stop, "and", "and whose")
            for more, last in named_column(text, again) if again else ():
                yield Several((found, more)), last
            yield found, stop
        yield from against_measure(text, end)


@rule
def against_measure(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """A measure against a number: `total spending over 1000`, `number of orders greater than 3`."""
    for by, end in measure(text, at):
        for against, stop in comparison(text, text.skip(end, "is|of|are|was|exceed")):
            yield (Related(by.noun, *against) if by.function == "count" and by.noun else Sums(by, *against)), stop


@rule
def with_phrase(text: Text, at: int) -> Iterator[tuple[Condition | Best, int]]:
    """`with no orders`, `without a brand`, `having more than 3 items`, `with the most orders`."""
    end = text.after(at, "with|having|who have|that have|containing|including|with a total of")
    if end and text.word(end) not in ("their", "its", "his", "her"):  # to be shown besides
        yield from has(text, end)
    if end := text.after(at, "without|with no|having no|lacking|with neither"):
        yield from lacks(text, text.skip(end, "any|a|an|single|the"))


@rule
def has(text: Text, at: int) -> Iterator[tuple[Condition | Best, int]]:
    """What one may have: a column, a value, so many rows of something, the most of something."""
    if end := text.after(at, "no", "not any", "neither", "zero"):
        yield from lacks(text, text.skip(end, "any", "a", "single"))
    if "all" in (text.word(at), text.word(at - 1)):
        return  # what is so of all of them is another question
    at = text.skip(at, "both", "either")
    yield from best_by(text, at)
    yield from named_column(text, at)
    yield from related(text, at)
    yield from values(text, at)
    yield from several_titled(text, at)
    yield from against_measure(text, at)
    for against, end in comparison(text, at):
        if dollars(text, at, end):
            yield replace(compare(columns(text.lexicon.tables, "money"), against), own=True), end
        for spots, stop in quantity(text, text.skip(end, "in", "of")):
            yield compare(spots, against), stop
    for spots, end in text.attributes(text.skip(at, "a", "an", "any", "the")):
        yield Blank(spots, filled=True), end


@rule
def several_titled(text: Text, at: int) -> Iterator[tuple[Match, int]]:
    """Things by their names: `a Tent`, `a Tent and a Kettle`."""
    for first, end in (*titled(text, at), *value(text, at)):
        if again := text.after(end, "and|or|and also|and an|and a"):
            for rest, stop in several_titled(text, again):
                every = text.word(end) == "and"
                if len(rest.values) == 1 or rest.every == every:
                    yield Match((first, *rest.values), every, foreign=True), stop
        yield Match((first,), foreign=True), end


@rule
def lacks(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """What one may not have; `money`: nothing on the balance."""
    if end := text.after(at, "balance", "money", "money left", "credit"):
        yield Compare(columns(text.lexicon.tables, "money"), "=", (0,)), end
    for spots, end in text.attributes(at):
        yield Blank(spots), end
    for match, end in (*values(text, at), *several_titled(text, at)):
        yield Not(Match(match.values)), end
    for head, end in noun(text, at):
        yield Related(head, "=", (0,)), end
        again = text.after(end, "or|and no|or any|nor|and|and any")
        for rest, stop in lacks(text, text.skip(again, "any", "a", "no")) if again else ():
            yield Several((Related(head, "=", (0,)), rest)), stop


@rule
def money(text: Text, at: int) -> Iterator[tuple[Condition, int]]:
    """A price without its name: `over $50`, `costing less than 20 dollars`, `priced between 10 and 20`."""
    named = text.after(at, "costing|cost|priced at|priced|worth|that cost|cheaper than|for|of|at|valued at")
    cheaper = text.word(at) == "cheaper"
    begin = at if cheaper or not named else named
    spots = columns(text.lexicon.tables, "money")
    for against, end in comparison(text, begin) if spots else ():
        if (named and text.word(at) not in ("for", "of", "at")) or dollars(text, begin, end):
            yield replace(compare(spots, against), own=not named or text.word(at) in ("for", "of", "at")), end
    if (end := text.after(at, "more expensive than", "pricier than", "dearer than")) and text.number(end) is not None:
        yield compare(spots, (">", (text.number(end) or 0,))), text.skip(end + 1, "dollar")
