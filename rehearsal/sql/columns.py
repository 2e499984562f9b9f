"""The columns that a question wants to see: named in a list, or told after it."""

from collections.abc import Iterator
from dataclasses import replace

from rehearsal.sql.ask import Ask, Spot
from rehearsal.sql.text import Text, rule

Columns = tuple[tuple[Spot, ...], ...]
_GIVE = (
    "give me|give|just|with|list|show|i need|i want|along with|together with|as well as|plus|show me|including|"
    "include|only|list their|list the|tell me|and|sorted with|return|i only need|displaying|showing|please give|"
    "please include|please list|list each of them once, with",
)
_ONCE = (
    "without repeat|no repeat|without duplicate|no duplicate|each once|every order once|every one once|once each|"
    "each of them once|list each of them once|each only once|every {} once|without repetition",
)
_SHOWN = (
    "and the total|and total|and the number|and the count|and the amount|and how many|and the average|the total|"
    "the number|the count|the average",
)


@rule
def column_list(text: Text, at: int) -> Iterator[tuple[Columns, int]]:
    """`name`, `names and emails`, `first and last name`."""
    begin = text.skip(at, "the|their|its|all|his|her|of|full")
    if end := text.after(begin, "first and last name", "full name", "name and surname"):
        titles = tuple(
            Spot(table.name, table.full_name) for table in text.lexicon.tables.by_name.values() if table.full_name
        )
        yield from _further(text, end, titles)
    for table, end in text.things(begin):
        for spots, stop in text.attributes(end + 1) if text.token(end).kind == "possessive" else ():
            mine = tuple(spot for spot in spots if spot.table == table)
            yield from _further(text, stop, mine or spots)
    for spots, end in text.attributes(begin):
        yield from _further(text, end, spots)


def _further(text: Text, at: int, first: tuple[Spot, ...]) -> Iterator[tuple[Columns, int]]:
    if begin := text.after(at, ", and|and|,|plus|, plus|along with|as well as|together with|with"):
        for rest, end in column_list(text, begin):
            yield (first, *rest), end
    yield (first,), at


def told_after(text: Text, at: int, ask: Ask) -> Iterator[tuple[Ask, int]]:
    """`…, with item id and price`, `… Just the names, please`, `… each of them once`."""
    begin = text.skip(at, ",")
    if end := text.after(begin, *_ONCE):
        yield replace(ask, distinct=True), end
    if text.word(begin) in ("every", "each") and text.word(begin + 2) == "once":
        yield replace(ask, distinct=True), begin + 3
    start = text.after(begin, *_GIVE) or begin
    if begin == at and start == begin:
        return
    for named, end in column_list(text, start):
        columns = named
        if ask.measures and not ask.groups:
            continue
        stop = text.after(text.skip(end, ","), *_SHOWN) if ask.measures or ask.noun.best else 0
        beside = text.word(begin) in ("with", "together", "along", "plus", "including", "as", "showing")
        if beside and not ask.groups:
            columns = ((Spot(ask.noun.table, text.lexicon.tables[ask.noun.table].label),), *columns)
        if not ask.columns:
            yield replace(ask, columns=columns), text.skip(stop or end, "please")
