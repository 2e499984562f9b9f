"""Questions for rows: lists, columns of rows, the best of them, and which value of a column is the best."""

from collections.abc import Iterator
from dataclasses import replace

from rehearsal.sql.ask import Ask, Best, Compare, Condition, Match, Measure, Noun, Spot
from rehearsal.sql.clauses import after_noun
from rehearsal.sql.columns import column_list
from rehearsal.sql.measures import best_by, measure
from rehearsal.sql.nouns import bare, noun
from rehearsal.sql.people import persons
from rehearsal.sql.predicates import done_by
from rehearsal.sql.tails import limited
from rehearsal.sql.text import Text
from rehearsal.sql.values import comparison, person, titled, value

_WHICH = (
    "which|what|which of the|what are the|what is the|which are the|which is the|in which|from which|to which|"
    "what kind of|which of our|by which|with which",
)
_THERE = (
    "are there|do we have|exist|are available|are used|are possible|occur|is there|are in use|do we sell|"
    "do we ship to|can|does the store have|appear",
)
_COMMON = ("most common", "most frequent", "most frequently used", "most used", "most often used", "commonest",
           "most popular", "most commonly used")  # fmt: skip
_RARE = ("least common", "least frequent", "rarest", "least used", "least popular")

_IS_COMMON = (
    "is the most common|are the most common|is most common|occurs most often|is used most|is the most popular"
    "|is the most frequent"
)
_DWELL = "live|come|from|in|have|use|go|to|reside|located|shipped|has|hold|there|addressed|sent|delivered|ship|placed"


def lists(text: Text, at: int, begin: int) -> Iterator[tuple[Ask, int]]:
    """All forms of lists; `begin` is after the words that only ask."""
    yield from _which(text, at)
    if end := text.after(at, "who"):
        for table in persons(text.lexicon.tables):
            yield from _told(text, end, Noun(table))
        yield from _rows(text, text.skip(end, "is|are|was|were|the"))
    for start in dict.fromkeys((begin, text.skip(at, "the"))):
        yield from _columns_of(text, start)
        yield from _rows(text, start)
        yield from _owned_columns(text, start)
        yield from _commonest(text, start)
        yield from _top_values(text, start)


def _which(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    begin = text.after(at, *_WHICH)
    if not begin:
        return
    begin = text.skip(begin, "the|different|distinct|unique|all")
    if any(text.token(end).kind == "possessive" for _, end in text.things(begin)):
        return  # whose it is, not what it is
    for head, end in noun(text, begin):
        yield from _told(text, end, head)
        yield from _object(text, end, head)
    for limit, start in ((1, begin), *([(text.number(begin), begin + 1)] if text.number(begin) else [])):
        for spots, end in text.attributes(start):
            yield from _which_value(text, end, spots, int(limit or 1))
    for head, end in bare(text, begin):
        if not head.conditions:
            for spots, stop in text.attributes(end):
                yield from _which_value(text, stop, spots, 1)


def _told(text: Text, at: int, head: Noun) -> Iterator[tuple[Ask, int]]:
    """`which customers (live in Texas)`, `who (spent the most)`."""
    for part, end in text.parse("predicate", at):
        if isinstance(part, Best):
            for more, stop in after_noun(text, end):
                best, rest = _timed(part, tuple(one for one in more if not isinstance(one, Best)))
                yield Ask(replace(head.having(*rest), best=best)), stop
        else:
            for more, stop in after_noun(text, end):
                rest = tuple(one for one in more if not isinstance(one, Best))
                yield Ask(head.having(part, *rest)), stop
    stop = text.after(at, *_THERE)
    yield Ask(head), stop or at


def _timed(best: Best, conditions: tuple[Condition, ...]) -> tuple[Best, tuple[Condition, ...]]:
    """`(borrowed the most) in 2024`: when it was done."""
    noun = best.by.noun if isinstance(best.by, Measure) else None
    mine = tuple(
        one
        for one in conditions
        if noun and isinstance(one, Compare) and one.op == "days" and noun.table in {spot.table for spot in one.spots}
    )
    if not (mine and noun and isinstance(best.by, Measure)):
        return best, conditions
    by = replace(best.by, noun=noun.having(*mine))
    return replace(best, by=by), tuple(one for one in conditions if one not in mine)


def _object(text: Text, at: int, head: Noun) -> Iterator[tuple[Ask, int]]:
    """`which products did Ada Grant order`."""
    if end := text.after(at, "did|do|does|has|have|had"):
        for found, stop in done_by(text, end, head.table):
            yield Ask(head.having(*found)), stop


def _which_value(text: Text, at: int, spots: tuple[Spot, ...], limit: int) -> Iterator[tuple[Ask, int]]:
    """`which state has the most orders`, `which cities have more than 20 customers`, `which statuses are there`."""
    if end := text.after(at, "has|have|with|had|sees|did|is|are|got"):
        for best, stop in best_by(text, end):
            yield from _ranked(spots, replace(best, limit=limit), stop)
        for against, stop in comparison(text, end):
            for head, last in noun(text, stop):
                yield Ask(head, (Measure("count", head),), (spots,), having=against), last
    own = list(dict.fromkeys(spot.table for spot in spots))
    if end := text.after(at, _IS_COMMON):
        for table in own:
            yield from _ranked(spots, Best(Measure("count", Noun(table)), True, limit), end)
    if end := text.after(at, "do most|do the most|did most|did the most"):
        for head, stop in noun(text, end):
            yield from _ranked(spots, Best(Measure("count", head), True, limit), text.skip(stop, _DWELL))
    if end := text.after(at, *_THERE):
        yield from ((Ask(Noun(table), columns=(spots,), distinct=True, guessed=True), end) for table in own)
    yield from _values_of(text, at, spots, own)


def _values_of(text: Text, at: int, spots: tuple[Spot, ...], own: list[str]) -> Iterator[tuple[Ask, int]]:
    """`which cities do customers live in`: the different values of a column."""
    end = text.after(at, "do our|were|was|do|did|are|does|can|have")
    for head, stop in noun(text, end) if end else ():
        yield Ask(head, columns=(spots,), distinct=True), text.skip(stop, _DWELL)
    if end and text.token(end).kind == "end":
        yield from ((Ask(Noun(table), columns=(spots,), distinct=True, guessed=True), end) for table in own)


def _ranked(spots: tuple[Spot, ...], best: Best, at: int) -> Iterator[tuple[Ask, int]]:
    """The best values of a column, by a measure of the rows that have it."""
    by = best.by
    if isinstance(by, Measure):
        for table in [by.noun.table] if by.noun else list({spot.table: None for spot in by.spots}):
            head = by.noun or Noun(table)
            yield Ask(head, (replace(by, noun=head),), (spots,), order=Best((), best.descending), limit=best.limit), at


def _columns_of(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`the names and emails of customers in Texas`."""
    different = text.after(
        at,
        "different|distinct|unique|the different|the distinct|all the different|all distinct|all different|all unique",
    )
    for columns, end in column_list(text, different or at):
        if begin := text.after(end, "of|for|from|used by|used in|among|in|that|do|on"):
            for head, stop in noun(text, begin):
                for ask, last in _told(text, stop, head):
                    yield replace(ask, columns=columns, distinct=bool(different)), last
            for options, stop in (*value(text, begin), *person(text, begin), *titled(text, begin)):
                for table in {option[0].table: None for option in options}:
                    yield Ask(Noun(table, (Match((options,)),)), columns=columns), stop
        owned = text.word(end) == "of" and text.word(end + 1) not in ("each", "every")  # of rows that have them, or not
        if len(columns) == 1 and not owned and (different or text.word(at - 1) != "of"):
            for table in {spot.table: None for spot in columns[0]}:
                yield Ask(Noun(table), columns=columns, distinct=True, guessed=True), text.after(end, *_THERE) or end


def _rows(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`customers in Texas`, `products with their prices`, `top 5 products by number of orders`."""
    for head, end in noun(text, at):
        ask = Ask(head)
        for more, stop in _beside(text, end, ask):
            for late, last in after_noun(text, stop):
                rest = tuple(one for one in late if not isinstance(one, Best))
                if len(rest) == len(late):
                    yield limited(more, rest) if rest else more, last
        for told, stop in _told(text, end, head):
            yield told, stop
    yield from _top(text, at)
    yield from _top_most(text, at)


def _beside(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """Columns or measures told after the noun."""
    begin = text.after(
        at,
        "with their|and their|with its|and its|along with their|along with its|with the|together with their|and the"
        "|including their|as well as their|showing|, with their|along with the|and|with|together with its|, showing"
        "|together with the|, including their",
    )
    if not begin:
        return
    for columns, end in column_list(text, begin):
        yield replace(ask, columns=((Spot(ask.noun.table, text.lexicon.tables[ask.noun.table].label),), *columns)), end
    for shown, end in measure(text, begin):
        yield (
            replace(ask, extra=(shown,)),
            text.after(end, "each has|they have|it has|each have|each") or end,
        )


def _top(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`top 5 products by number of orders`."""
    if not (begin := text.after(at, "top|the top|best|the best|first|bottom|the bottom")):
        return
    down = text.word(begin - 1) != "bottom"
    amount = text.number(begin)
    begin = begin + 1 if isinstance(amount, int) else begin
    limit = amount if isinstance(amount, int) else 1
    for head, end in noun(text, begin):
        if stop := text.after(end, "by|in terms of|according to|ranked by|based on|with the highest|with the most"):
            for by, last in (*measure(text, stop), *text.parse("quantity", stop)):
                yield Ask(replace(head, best=Best(by, down, limit))), last
            if text.word(stop - 1) == "by" and (last := text.after(stop, "spending", "money spent")):
                del last
    for spots, end in text.attributes(begin):
        if stop := text.after(end, "by", "in terms of", "according to", "with the highest"):
            for by, last in measure(text, stop):
                yield from _ranked(spots, Best(by, down, limit), last)


def _top_most(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`5 customers with the most orders`: the number stands before the noun."""
    begin = text.after(at, "top", "the top", "the") or at
    amount = text.number(begin)
    if isinstance(amount, int):
        for head, end in noun(text, begin + 1):
            if head.best is not None:
                yield Ask(replace(head, best=replace(head.best, limit=amount))), end
            for told, stop in _told(text, text.after(end, "that", "who", "which") or end, head):
                if told.noun.best is not None:
                    yield replace(told, noun=replace(told.noun, best=replace(told.noun.best, limit=amount))), stop


def _owned_columns(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`customer names`, `Ada Grant's email`, `the most expensive variant's price`."""
    for owner, end in bare(text, at):
        for columns, stop in column_list(text, text.skip(end, "'s", "'")):
            for told, last in _told(text, stop, owner):
                yield replace(told, columns=columns), last
    for options, end in (*value(text, at), *person(text, at)):
        if text.token(end).kind == "possessive":
            for columns, stop in column_list(text, end + 1):
                for table in {option[0].table: None for option in options}:
                    yield Ask(Noun(table, (Match((options,)),)), columns=columns), stop


def _commonest(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`the most common status of orders`."""
    begin = text.skip(at, "the")
    amount = text.number(begin)
    begin = begin + 1 if isinstance(amount, int) else begin
    limit = amount if isinstance(amount, int) else 1
    for words, descending in ((_COMMON, True), (_RARE, False)):
        if end := text.after(begin, *words):
            for spots, stop in text.attributes(end):
                after = text.after(stop, "of|among|for|in|across|used by")
                for head, last in noun(text, after) if after else ():
                    yield from _ranked(spots, Best(Measure("count", head), descending, limit), last)
                for table in {spot.table: None for spot in spots}:
                    yield from _ranked(spots, Best(Measure("count", Noun(table)), descending, limit), stop)


def _top_values(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`the 3 states with the most customers`."""
    begin = text.after(at, "the top", "top", "the") or at
    amount = text.number(begin)
    begin, limit = (begin + 1, amount) if isinstance(amount, int) else (begin, 1)
    for spots, end in text.attributes(begin):
        yield from _which_value(text, end, spots, limit)
