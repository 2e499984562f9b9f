"""Values in a question: known ones, ids, names of people and places, quoted texts, numbers and comparisons."""

from collections.abc import Iterator

from rehearsal.sql.ask import Compare, Match, Option, Spot, Value
from rehearsal.sql.dates import TIMES
from rehearsal.sql.tables import Tables
from rehearsal.sql.text import Text, rule
from rehearsal.sql.thesaurus import PLACE
from rehearsal.sql.words import split

Options = tuple[Option, ...]
Comparison = tuple[str, tuple[Value, ...]]
_MORE = ("more than", "greater than", "over", "above", "higher than", "larger than", "bigger than", "exceeding", ">")
_LESS = ("less than", "fewer than", "under", "below", "lower than", "smaller than", "<", "cheaper than")
_LEAST = ("at least", "no less than", "no fewer than", "not less than", "a minimum of", "minimum of", ">=")
_MOST = ("at most", "no more than", "up to", "not more than", "a maximum of", "maximum of", "<=", "not over")
_SAME = ("exactly", "equal to", "just", "only", "=", "precisely")
COMMON = frozenset(
    [
        "i",
        "give",
        "list",
        "show",
        "just",
        "only",
        "sort",
        "rank",
        "please",
        "item",
        "what",
        "which",
        "who",
        "how",
        "first",
        "last",
        "the",
        "and",
        "count",
        "number",
        "name",
        "each",
        "every",
        "all",
        "no",
        "in",
        "of",
        "for",
        "with",
        "customer",
        "order",
        "product",
        "total",
        "average",
        "order_by",
        "include",
        "tell",
        "find",
        "top",
        "not",
        "without",
        "out",
    ]
)  # begin sentences, not names
_COINS = ("dollar", "usd", "buck", "euro", "point")


@rule
def value(text: Text, at: int) -> Iterator[tuple[Options, int]]:
    """One value, known from the samples or by its form."""
    at = text.skip(at, "the", "a", "an")
    for entry, _, end in text.meanings(at):
        options = tuple(option for option in entry.options if not _half(text, at, end, option[0]))
        if options:
            yield from _named_after(text, end, options)
            yield options, end
    token = text.token(at)
    if token.kind in ("id", "email", "quoted") or (token.kind == "number" and token.text.isdigit()):
        shaped = text.lexicon.shaped(token)
        if shaped:
            yield shaped, at + 1


def _named_after(text: Text, at: int, options: Options) -> Iterator[tuple[Options, int]]:
    """`the Harbour district`: the value, then the name of its column."""
    for spots, end in text.attributes(at):
        mine = tuple(option for option in options if option[0] in spots)
        if mine:
            yield mine, end
    if text.word(at) in ("account", "kind", "one"):
        yield options, at + 1


def _half(text: Text, at: int, end: int, spot: Spot) -> bool:
    """Whether this is one half of a person's whole name: `Ada` of `Ada Grant`."""
    names = text.lexicon.tables[spot.table].full_name
    before, after = text.token(at - 1) if at else text.token(len(text)), text.token(end)
    if not text.token(at).capital or spot.columns[0] not in names or len(spot.columns) > 1:
        return False
    if spot.columns[0] == names[0]:
        return after.kind == "word" and after.capital and after.word not in COMMON
    return before.kind == "word" and before.capital and _first_name(text, at - 1)


def _first_name(text: Text, at: int) -> bool:
    """Whether some person is known to be called so."""
    entry = text.lexicon.entries.get((text.word(at),))
    firsts = [table.full_name[:1] for table in text.lexicon.tables.by_name.values() if table.full_name]
    return entry is not None and any(spot.columns in firsts for spot, _ in entry.options)


@rule
def people(text: Text, at: int) -> Iterator[tuple[Match, int]]:
    """One or several persons by their names."""
    for first, end in person(text, at):
        again = text.after(end, ", or|or|, and|and|,|or by|and by|or of|or from")
        for rest, stop in people(text, again) if again else ():
            yield Match((first, *rest.values)), stop
        yield Match((first,)), end


@rule
def person(text: Text, at: int) -> Iterator[tuple[Options, int]]:
    """Two words with capitals, or quoted, where rows have names in two parts."""
    named = [table for table in text.lexicon.tables.by_name.values() if table.full_name]
    first, last = text.token(at), text.token(at + 1)
    if first.kind == "quoted" and len(first.text.split()) == 2:
        given, family = first.text.split()
        yield tuple((Spot(table.name, table.full_name), (given, family)) for table in named), at + 1
    elif (
        named and (at or _first_name(text, at)) and first.kind == last.kind == "word" and first.capital and last.capital
    ):
        yield tuple((Spot(table.name, table.full_name), (first.text, last.text)) for table in named), at + 2


@rule
def titled(text: Text, at: int) -> Iterator[tuple[Options, int]]:
    """A name or title that no sample shows, of things and not of people: quoted or with capitals, in the plural too."""
    titles = [Spot(table.name, table.title) for table in text.lexicon.tables.by_name.values() if len(table.title) == 1]
    start = text.skip(at, "a", "an", "the", "any") if text.token(at).kind == "word" else at
    token = text.token(start)
    if start == at and text.word(at - 1) in ("has", "did", "doe", "does", "do", "had", "by", "is", "was"):
        return
    if token.kind == "number" or not titles or (start == 0 and not text.token(1).capital and not list(text.things(1))):
        return
    if start > 0 and _odd(text, start) and _odd(text, start - 1):
        return  # the middle of a name
    for written, end in literal(text, start):
        if _odd(text, end) and token.kind == "word":
            continue
        strange = any(next(text.meanings(place), None) is None for place in range(start, end))
        strange = strange and text.word(start) not in COMMON
        if token.kind == "quoted" or (strange and token.kind == "word"):
            yield tuple((spot, (written,)) for spot in titles), end


def _odd(text: Text, at: int) -> bool:
    """Whether a word has a capital and is not known: a part of some name."""
    token = text.token(at)
    return token.kind == "word" and token.capital and token.word not in COMMON and next(text.meanings(at), None) is None


@rule
def literal(text: Text, at: int) -> Iterator[tuple[str, int]]:
    """A text that no sample shows: quoted, or words with capitals, the longest first."""
    if text.token(at).kind in ("quoted", "email", "id"):
        yield text.token(at).text, at + 1
        return
    end = at
    while text.token(end).kind == "word" and text.token(end).capital and end - at < 5 and text.word(end) not in TIMES:
        end += 1
    for stop in range(end, at, -1):
        yield " ".join(token.text for token in text.tokens[at:stop]), stop


@rule
def values(text: Text, at: int) -> Iterator[tuple[Match, int]]:
    """One value, or several joined by "or" or "and"."""
    for first, end in value(text, at):
        for rest, every, stop in _more(text, end):
            yield Match((first, *rest), every), stop


def _more(text: Text, at: int) -> Iterator[tuple[tuple[Options, ...], bool, int]]:
    after = text.after(at, ", or|or|, and|and|,|nor|, nor|and in|or in|or to|or from")
    joined = [text.word(place) for place in range(at, after)]
    if after:
        for one, end in value(text, after):
            for rest, every, stop in _more(text, end):
                yield (one, *rest), every or ("and" in joined), stop
    yield (), False, at


@rule
def value_of(text: Text, at: int, spots: tuple[Spot, ...]) -> Iterator[tuple[Match, int]]:
    """Values of these columns; also texts and numbers that no sample shows."""
    for first, end in _one_of(text, text.skip(at, "the"), spots):
        after = text.after(end, "or|, or|and|,|nor")
        if after:
            for rest, stop in value_of(text, after, spots):
                yield Match((first, *rest.values)), stop
        yield Match((first,)), end


def _one_of(text: Text, at: int, spots: tuple[Spot, ...]) -> Iterator[tuple[Options, int]]:
    for known, end in value(text, at):
        mine = tuple(option for option in known if option[0] in spots)
        if mine:
            yield mine, end
    tables = text.lexicon.tables
    token, simple = text.token(at), tuple(spot for spot in spots if len(spot.columns) == 1)
    if token.kind == "number" and token.text.isdigit():
        options = tuple((spot, (_as(tables, spot, token.text),)) for spot in simple)
        yield options, at + 1
    for written, end in literal(text, at):
        texts = tuple((spot, (written,)) for spot in simple if textual(tables, spot))
        whole = len(written.split()) == 2
        names = tuple((spot, tuple(written.split())) for spot in spots if len(spot.columns) == 2 and whole)
        if texts or names:
            yield (*texts, *names), end


def textual(tables: Tables, spot: Spot) -> bool:
    column = tables.column(spot.table, spot.columns[0])
    return not (column.number or column.boolean or column.date)


def _as(tables: Tables, spot: Spot, text: str) -> Value:
    return text if textual(tables, spot) else int(text)


@rule
def comparison(text: Text, at: int) -> Iterator[tuple[Comparison, int]]:
    """An operator with one number or two."""
    for words, op in ((_MORE, ">"), (_LESS, "<"), (_LEAST, ">="), (_MOST, "<="), (_SAME, "=")):
        if (end := text.after(at, *words)) and (amount := _amount(text, end)):
            yield (op, (amount[0],)), amount[1]
    if (end := text.after(at, "between", "from", "in the range of")) and (low := _amount(text, end)):
        after = text.after(low[1], "and", "to", "-")
        if after and (high := _amount(text, after)):
            yield ("between", (low[0], high[0])), high[1]
    if alone := _amount(text, at):
        number, end = alone
        for words, op in (
            (("or more", "or higher", "or greater", "or above", "and above", "and up", "or over"), ">="),
            (("or less", "or fewer", "or lower", "or below", "and below", "or under"), "<="),
        ):
            if stop := text.after(end, *words):
                yield (op, (number,)), stop
        yield ("=", (number,)), end


def _amount(text: Text, at: int) -> tuple[Value, int] | None:
    number = text.number(at)
    if number is None and text.word(at) in ("a", "an") and text.word(at + 1) in ("hundred", "thousand", "dozen"):
        at, number = at + 1, text.number(at + 1)
    if number is None:
        return None
    end = at + 1
    if text.word(end) in ("hundred", "thousand"):
        number, end = number * (100 if text.word(end) == "hundred" else 1000), end + 1
    return number, text.skip(end, *_COINS)


def dollars(text: Text, start: int, end: int) -> bool:
    """Whether an amount between these places is written as money."""
    return any("$" in token.text or token.word in _COINS for token in text.tokens[start:end])


def columns(tables: Tables, wanted: str) -> tuple[Spot, ...]:
    """All columns of a kind: money, place, title."""
    found: list[Spot] = []
    for table in tables.by_name.values():
        if wanted == "title" and table.title:
            found.append(Spot(table.name, table.title))
        for column in table.columns:
            place = split(column.name)[-1] in PLACE and not (column.number or column.boolean)
            if (wanted == "money" and column.money) or (wanted == "place" and place):
                found.append(Spot(table.name, (column.name,)))
    return tuple(found)


def compare(spots: tuple[Spot, ...], against: Comparison) -> Compare:
    return Compare(spots, *against)
