"""Whole questions: numbers, lists, groups, shares, and what closes a question."""

from collections.abc import Iterator
from dataclasses import replace

from rehearsal.sql.ask import Ask, Best, Condition, Match, Measure, Noun, Spot
from rehearsal.sql.clauses import after_noun
from rehearsal.sql.lists import lists
from rehearsal.sql.measures import function, measure, quantity, spending
from rehearsal.sql.nouns import bare, noun
from rehearsal.sql.people import humans
from rehearsal.sql.predicates import done_by, predicate
from rehearsal.sql.tails import closed, groups, limited
from rehearsal.sql.text import Text
from rehearsal.sql.thesaurus import PLACING, VERBS
from rehearsal.sql.values import values

_HOW_MANY = (
    "how many|number of|count of|count|total number of|count how many|how many of|count all|the number of|"
    "the total number of|the count of|how often|total count of",
)
_SHARE = ("percentage of", "percent of", "share of", "fraction of", "proportion of", "portion of", "percentage", "% of")
_ASK = (
    "what is|what are|what was|what were|show me|show|give me|give|tell me|list|find|get|calculate|compute|"
    "display|return|i want|i need|can you|could you|please|what|get me|find me|list all|show us|determine|"
    "i would like|to see|to know|me|find out|let me know|can you tell me|do you know|see",
)
_AMONG = ("among", "per", "by", "each", "out", "across")
_LOOSE = ("in", "of", "for", "from", "to", "with", "at", "over", "under", "without")  # of the part, or of the whole
_AUXILIARY = ("did", "do", "does", "have", "has", "had", "is", "are", "was", "were")
_DOING = (*VERBS, *PLACING, "placed", "contain", "include", "hold", "belong", "own", "there", "come", "ordered")


def questions(text: Text) -> list[Ask]:
    """All readings of the whole text, the likeliest first."""
    found = []
    for ask, end in [*_opened(text, 0)]:
        if end >= len(text):
            found.append(ask)
    return found


def _opened(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    begin = opening(text, at)
    for start in dict.fromkeys((begin, at)):
        yield from _each(text, start)
        for core in (_how_many, _how_much, _share, _number):
            for ask, end in core(text, start):
                yield from closed(text, end, ask)
    for ask, end in lists(text, at, begin):
        yield from closed(text, end, ask)


def opening(text: Text, at: int) -> int:
    """The place after `please show me`, `what is`, …"""
    while end := text.after(at, *_ASK):
        at = end
    return text.skip(at, "the")


def _each(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`For each state, how many orders …`."""
    if not text.after(at, "for each", "for every", "per", "by"):
        return
    for grouped, end in groups(text, at):
        for ask, stop in _opened(text, text.skip(end, ",")):
            if ask.measures and not ask.groups:
                yield replace(ask, groups=grouped), stop
    for match, middle in values(text, text.after(at, "for each", "for every", "per", "by")):
        for spots, end in text.attributes(middle):
            for ask, stop in _opened(text, text.skip(end, ",")):
                if ask.measures and not ask.groups:
                    yield limited(replace(ask, groups=(spots,)), (match,)), stop


def _how_many(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    begin = text.after(at, *_HOW_MANY)
    if not begin:
        return
    different = text.after(begin, "different|distinct|unique|the different|the distinct")
    for head, end in noun(text, begin):
        yield from _subject(text, end, head)
        for conditions, stop in _predicates(text, end, human=head.table in humans(text.lexicon.tables)):
            whole = head.having(*conditions)
            yield Ask(whole, (Measure("count", whole),)), stop
    yield from _how_many_values(text, begin, different or begin)


def _how_many_values(text: Text, at: int, begin: int) -> Iterator[tuple[Ask, int]]:
    """`how many different cities do customers live in`, `how many pages does the longest book have`."""
    for spots, end in text.attributes(begin):
        for head, stop in _among(text, end, spots):
            yield Ask(head, (Measure("count", head, spots, distinct=True),)), stop
    for spots, end in quantity(text, at):
        if start := text.after(end, "does|do|did|are in|are there in|has|are on|are left on|is on"):
            for head, stop in noun(text, start):
                yield Ask(head, columns=(spots,)), text.skip(stop, "have", "has")
    for owner, end in bare(text, begin):
        for spots, stop in text.attributes(end):
            for conditions, last in _predicates(text, stop):
                whole = owner.having(*conditions)
                yield Ask(whole, (Measure("count", whole, spots, distinct=True),)), last


def _predicates(text: Text, at: int, *, human: bool = True) -> Iterator[tuple[tuple[Condition, ...], int]]:
    """What is told of the noun, `there are` and the like passed over."""
    for part, end in predicate(text, at):
        if not isinstance(part, Best):
            for more, stop in after_noun(text, end, human=human):
                rest = tuple(one for one in more if not isinstance(one, Best))
                if len(rest) == len(more):
                    yield (part, *rest), stop
    yield (), at


def _subject(text: Text, at: int, head: Noun) -> Iterator[tuple[Ask, int]]:
    """`how many orders has Ada Grant placed`, `how many variants does each product have`."""
    if text.word(at) not in _AUXILIARY:
        return
    begin = text.skip(at, *_AUXILIARY)
    if text.word(begin) in ("each", "every"):
        for grouped, end in groups(text, begin):
            stop = text.skip(end, "have", "has", *_DOING)
            yield Ask(head, (Measure("count", head),), grouped), stop
    for found, end in done_by(text, begin, head.table):
        whole = head.having(*found)
        yield Ask(whole, (Measure("count", whole),)), end


def _among(text: Text, at: int, spots: tuple[Spot, ...]) -> Iterator[tuple[Noun, int]]:
    """The rows that a column is looked at in: `of customers`, `do customers live in`; all of its table otherwise."""
    end = text.after(
        at,
        "of|among|for|in|across|do our|are there among|are there in|are there for|are there of|do|"
        "did|are|have|does|were|used by",
    )
    for head, stop in noun(text, end) if end else ():
        for conditions, last in _predicates(text, stop):
            verb = text.skip(last, "live|come|from|in|have|use|been|shipped|to|go|reside")
            yield head.having(*conditions), verb
    for table in {spot.table for spot in spots}:
        yield Noun(table), text.after(at, "do we ship to", "do we deliver to", "do we have", "do we sell") or at


def _how_much(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`how much did customers in Texas spend`, `how much was paid with paypal`, `how much was refunded`."""
    begin = text.after(at, "how much money", "how much", "how much in total")
    if not begin:
        return
    for paid in spending(text.lexicon.tables, text):
        head = paid.noun or Noun("")
        begin = text.skip(begin, *_AUXILIARY, "been", "in", "total")
        for owner, end in text.parse("subject", begin):
            if stop := text.after(text.skip(end, *_AUXILIARY), "spent", "spend", "paid", "pay"):
                for rest, last in after_noun(text, stop, human=False):
                    whole = head.having(owner, *(one for one in rest if not isinstance(one, Best)))
                    yield Ask(whole, (replace(paid, noun=whole),)), last
        stop = text.after(begin, "paid", "spent")
        for rest, last in after_noun(text, stop, human=False) if stop else ():
            whole = head.having(*(one for one in rest if not isinstance(one, Best)))
            yield Ask(whole, (replace(paid, noun=whole),)), last
        for entry, _, end in text.meanings(begin):
            mine = tuple(option for option in entry.options if option[0].table == head.table)
            for rest, last in after_noun(text, end, human=False) if mine else ():
                conditions = tuple(one for one in rest if not isinstance(one, Best))
                whole = Noun(head.table, (Match((mine,)), *conditions))
                yield Ask(whole, (replace(paid, noun=whole),)), last


def _share(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`what percentage of orders are pending`."""
    begin = text.after(text.skip(at, "the", "what"), *_SHARE)
    for head, end in noun(text, text.skip(begin, "the", "all")) if begin else ():
        for part, stop in predicate(text, end) if text.word(end) not in _LOOSE else ():
            if not isinstance(part, Best):
                yield Ask(head, (Measure("count", head),), share=part), stop
    for head, end in noun(text, text.skip(begin, "the", "all")) if begin else ():
        yield (
            Ask(head, (Measure("count", head),), portion=True),
            text.after(
                end,
                "has it|have it|is that|have each|it has|are in it|has each|belong to it|is in it|"
                "is in each|come from it",
            )
            or end,
        )
    for head, end in bare(text, begin) if begin and list(bare(text, begin)) else ():
        if len(head.conditions) == 1 and text.word(end) in ("", ",", *_AMONG):
            yield Ask(Noun(head.table), (Measure("count", Noun(head.table)),), share=head.conditions[0]), end
    for head, end in noun(text, text.skip(begin, "the", "all")) if begin else ():
        if len(head.conditions) == 1 and not head.value:
            rest = Noun(head.table)
            yield Ask(rest, (Measure("count", rest),), share=head.conditions[-1]), end


def _number(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`average price of variants`, `number of orders`, several of them joined."""
    yield from _shared(text, at)
    for first, end in measure(text, at):
        if begin := text.after(end, "and", ", and", ",", "and the"):
            for ask, stop in _number(text, begin):
                second = ask.measures[0]
                known = first.noun or second.noun
                both = (replace(first, noun=known), replace(second, noun=second.noun or known), *ask.measures[1:])
                yield replace(ask, noun=known or ask.noun, measures=both), stop
        if first.noun is not None:
            human = first.noun.table in humans(text.lexicon.tables)
            for conditions, stop in _predicates(text, end, human=human):
                whole = first.noun.having(*conditions)
                yield Ask(whole, (replace(first, noun=whole),)), stop
        else:
            yield from _unnamed(text, end, first)


def _shared(text: Text, at: int) -> Iterator[tuple[Ask, int]]:
    """`the lowest and the highest price of variants`."""
    for name, end in function(text, at):
        if begin := text.after(end, "and", "and the", ",", ", and"):
            for ask, stop in _number(text, begin):
                if ask.measures[0].spots:
                    yield replace(ask, measures=(replace(ask.measures[0], function=name), *ask.measures)), stop


def _unnamed(text: Text, at: int, found: Measure) -> Iterator[tuple[Ask, int]]:
    """A measure whose rows are not named: those of its column's table; several functions of one column."""
    for table in {spot.table: None for spot in found.spots}:
        for rest, end in after_noun(text, at):
            whole = Noun(table, tuple(one for one in rest if not isinstance(one, Best)))
            yield Ask(whole, (replace(found, noun=whole),), guessed=True), end
