"""What closes a question: groups, an order, a limit, conditions said late, and words that add nothing."""

from collections.abc import Iterator
from dataclasses import replace

from rehearsal.sql.ask import Ask, Best, Compare, Condition, Group, Match, Measure, Not, Noun, Period, Spot
from rehearsal.sql.clauses import after_noun
from rehearsal.sql.columns import told_after
from rehearsal.sql.dates import dated
from rehearsal.sql.measures import measure
from rehearsal.sql.text import Text, rule
from rehearsal.sql.thesaurus import PLACING, VERBS
from rehearsal.sql.values import comparison

_BY = (
    "per|by|for each|in each|of each|for every|in every|grouped by|group by|across|by each|broken down by|"
    "split by|each|every|with each|from each|on each|to each|at each|and by|for each of the|for all|within each|"
    "across all|for each different|of every",
)
_DONE = {*VERBS, *PLACING, "written", "published", "given", "received"}
_UNITS = ("month", "year", "day")
_ORDER = (
    "ordered by",
    "sorted by",
    "order by",
    "sort by",
    "ranked by",
    "in order of",
    "arranged by",
    "sorted",
    "sort them by",
    "order them by",
)
_DOWN = (
    "descending|desc|in descending order|from highest to lowest|highest first|from high to low|largest first|"
    "from most to least|most expensive first|most first|from most to fewest|from largest to smallest|decreasing|"
    "from newest to oldest|biggest first|longest first|heaviest first|in decreasing order|descendingly|"
    "starting with the highest",
)
_UP = (
    "ascending|asc|in ascending order|from lowest to highest|lowest first|from low to high|smallest first|"
    "cheapest first|shortest first|alphabetically|from cheapest to most expensive|fewest first|"
    "in alphabetical order|from least to most|increasing|from oldest to newest|least first",
)
_FILLER = (
    "in total|overall|altogether|are there|is there|exist|in the database|in the store|please|in all|do we have|"
    "in the system|in our database|have we|there are|do you have|at all|all|in our store|in the data|"
    "are there in total|all together|right now|currently|do we sell|across all|there|do i have|we have|are|"
    "on record|on file|in the library|were there|instead|in our system|available in the database|in our catalog|"
    "ever|so far|each|together|for me|do exist|is|was|i see|in this store|in the shop|were|have been made|"
    "has been made|have been|did we get|do we get|did we have",
)


@rule
def groups(text: Text, at: int) -> Iterator[tuple[tuple[Group, ...], int]]:
    """`per state and city`, `for each product`, `by month`."""
    begin = text.after(at, *_BY)
    if not begin or (text.word(at) == "by" and text.word(at - 1) in _DONE and not list(text.attributes(begin))):
        return  # by whom it was done
    for first, end in _group(text, text.skip(begin, "the", "each", "different", "calendar")):
        again = text.after(end, "and by|and per|and for each|and|, and|,")
        for rest, stop in _group(text, text.skip(again, "the", "each")) if again else ():
            yield (first, rest), stop
        yield (first,), end


def _group(text: Text, at: int) -> Iterator[tuple[Group, int]]:  # noqa: C901  one line a form
    if text.word(at) in _UNITS:
        done = text.word(at + 1)
        spots = dated(text.lexicon.tables)
        if spots:
            yield Period(text.word(at), spots), at + 1
        elif done in VERBS:
            return
    if text.after(at, "number of", "count of"):
        return  # groups of groups
    for spots, end in text.attributes(at):
        for owner, stop in text.things(text.after(end, "of the", "of")) if text.after(end, "of the", "of") else ():
            mine = tuple(spot for spot in spots if spot.table == owner)
            if mine:
                yield mine, stop
        yield spots, end
    direct = max((end for _, end in text.attributes(at)), default=0)
    for _, middle in text.things(at):
        yield from (found for found in text.attributes(middle) if found[1] > direct)
    for head, end in text.parse("noun", at):
        if not any(isinstance(one, Compare) and one.op == "days" for one in head.conditions):
            yield head, end


@rule
def ordering(text: Text, at: int) -> Iterator[tuple[Best, int]]:
    """`sorted by price descending`, `alphabetically`, `highest first`."""
    begin = text.after(text.skip(at, ",", "and"), *_ORDER)
    if not begin or text.token(text.skip(at, ",", "and")).text.lower() == "orders":
        return
    named: list[tuple[Measure | tuple[Spot, ...], int]] = [*measure(text, begin)]
    named += text.attributes(text.skip(begin, "the", "their", "its"))
    for by, end in named:
        stop = text.skip(end, ",", "(", "in")
        if last := text.after(end, *_DOWN) or text.after(stop, *_DOWN):
            yield Best(by, True), text.skip(last, ")", "order")
        if last := text.after(end, *_UP) or text.after(stop, *_UP):
            yield Best(by, False), text.skip(last, ")", "order")
        yield Best(by, False), end
    if last := text.after(begin, *_UP):
        yield Best((), False), last
    if last := text.after(begin, *_DOWN):
        yield Best((), True), last


def closed(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """The question with all that may still follow."""
    yield ask, text.skip(at, ",")
    start = text.skip(at, ",")
    if end := text.after(start, *_FILLER):
        yield from closed(text, end, ask)
    for more, end in told_after(text, at, ask):
        yield from closed(text, end, more)
    for ending in (_grouped, _having, _sorted, _cut, _late):
        for more, end in ending(text, start, ask):
            yield from closed(text, end, more)


def _grouped(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """Groups; those of a bare noun are counted: `orders by state`."""
    plain = not (ask.measures or ask.columns or ask.noun.best or ask.order or ask.extra)
    if plain and text.word(at) in ("per", "by", "for", "in"):
        ask = replace(ask, measures=(Measure("count", ask.noun),))
    if ask.measures and not ask.groups and ask.share is None:
        yield from ((replace(ask, groups=grouped), end) for grouped, end in groups(text, at))


def _having(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """`where that is more than 100`: of the measure of each group."""
    begin = text.after(
        at, "where that is|where it is|where this is|only where that is|where the average is|if that is|having"
    )
    if ask.measures and ask.groups and ask.having is None and begin:
        yield from ((replace(ask, having=against), end) for against, end in comparison(text, begin))


def _sorted(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    if ask.order is not None:
        return
    end = text.after(at, "youngest first|oldest first|newest first|latest first|earliest first")
    spots = dated(text.lexicon.tables, born=text.word(at) in ("youngest", "oldest")) if end else ()
    if spots and not ask.measures:
        yield replace(ask, order=Best(spots, text.word(at) in ("youngest", "newest", "latest"))), end
    yield from ((replace(ask, order=order), end) for order, end in ordering(text, at))
    for words, down in ((_DOWN, True), (_UP, False)):
        if end := text.after(at, *words):
            yield replace(ask, order=Best((), down)), end


def _cut(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """`top 5`, `limit 10`."""
    end = text.after(at, "top|only the top|limit|limited to|only the first|the top|and only the top|only top")
    amount = text.number(end) if end and ask.limit is None else None
    if isinstance(amount, int):
        order = ask.order or (Best((), True) if ask.measures else None)
        if order is not None or "limit" in text.word(end - 1):
            yield replace(ask, limit=amount, order=order), text.skip(end + 1, "row", "result", "one")


def _late(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """Conditions said at the end: `…, only in Texas`."""
    begin = text.skip(at, "only", "but", "for", "just", "and") if text.word(at) == "only" else at
    for late, end in after_noun(text, begin):
        conditions = tuple(one for one in late if not isinstance(one, Best))
        if conditions and len(conditions) == len(late):
            yield limited(ask, conditions), end


def limited(ask: Ask, conditions: tuple[Condition, ...]) -> Ask:
    """The same question over fewer rows."""
    best = ask.noun.best
    measured = best.by.noun if best and isinstance(best.by, Measure) else None
    if best and isinstance(best.by, Measure) and measured and all(_left_out(measured, one) for one in conditions):
        by = replace(best.by, noun=measured.having(*conditions))
        return replace(ask, noun=replace(ask.noun, best=replace(best, by=by)))
    measures = tuple(replace(one, noun=(one.noun or ask.noun).having(*conditions)) for one in ask.measures)
    return replace(ask, noun=ask.noun.having(*conditions), measures=measures)


def _left_out(measured: Noun, condition: Condition) -> bool:
    """`refunds not counted`: of the rows that are measured, not of those that are listed."""
    part = condition.part if isinstance(condition, Not) else None
    return isinstance(part, Match) and all(
        any(spot.table == measured.table for spot, _ in options) for options in part.values
    )
