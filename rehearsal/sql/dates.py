"""Days, months and years in a question, as half-open ranges of ISO days."""

from collections.abc import Iterator
from datetime import date

from rehearsal.sql.ask import Compare, Spot
from rehearsal.sql.tables import Tables
from rehearsal.sql.text import Text, rule
from rehearsal.sql.thesaurus import deeds, done, stem
from rehearsal.sql.words import split

MONTHS = {
    name: at
    for at, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ],
        1,
    )
    for name in names.split()
}
_SEASONS = ("spring", "summer", "autumn", "winter")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
TIMES = frozenset((*MONTHS, *_SEASONS, *_DAYS))
Range = tuple[str, str]
_BORN = {"birth", "born", "birthday"}
_MAIN = {"created", "date", "placed", "made"}


@rule
def period(text: Text, at: int) -> Iterator[tuple[Range, int]]:
    """A day, a month or a year."""
    at = text.after(at, "the year", "year", "the month of", "the") or at
    if text.token(at).kind == "date":
        day = date.fromisoformat(text.token(at).text) if _valid(text.token(at).text) else None
        if day:
            yield _day(day), at + 1
    yield from _written(text, at)
    if (year := _year(text, at)) is not None:
        yield (f"{year}-01-01", f"{year + 1}-01-01"), at + 1


def _written(text: Text, at: int) -> Iterator[tuple[Range, int]]:
    """`March 2024`, `March 5, 2024`, `5 March 2024`, `the 5th of March 2024`."""
    month = MONTHS.get(text.word(at))
    if month:
        day, end = text.number(at + 1), text.skip(at + 2, ",")
        if isinstance(day, int) and day < 32 and (year := _year(text, end)) is not None and _real(year, month, day):
            yield _day(date(year, month, day)), end + 1
        end = text.skip(at + 1, "of", ",")
        if (year := _year(text, end)) is not None:
            yield (f"{year}-{month:02}-01", date(year + month // 12, month % 12 + 1, 1).isoformat()), end + 1
    day, end = text.number(at), text.skip(at + 1, "of")
    later = MONTHS.get(text.word(end))
    if isinstance(day, int) and later:
        year = _year(text, text.skip(end + 1, ","))
        if year is not None and _real(year, later, day):
            yield _day(date(year, later, day)), text.skip(end + 1, ",") + 1


@rule
def when(text: Text, at: int) -> Iterator[tuple[Range, int]]:
    """A range of days: `in 2024`, `since March 2024`, `between 2019 and 2021`; "" for an end that is open."""
    if end := text.after(at, "between", "from"):
        for (start, _), middle in period(text, end):
            if further := text.after(middle, "and|to|until|till|through|-"):
                yield from (((start, last), stop) for (_, last), stop in period(text, further))
    for words, make in (
        (("in", "during", "on", "of", "for", "within", "from"), lambda start, end: (start, end)),
        (("since", "starting in", "starting", "on or after"), lambda start, end: (start, "")),
        (("after", "later than"), lambda start, end: (end, "")),
        (("before", "earlier than", "prior to"), lambda start, end: ("", start)),
        (("until", "till", "up to", "through", "on or before", "by"), lambda start, end: ("", end)),
    ):
        if begin := text.after(at, *words):
            for (start, last), stop in period(text, begin):
                if later := text.after(stop, "or later", "or after", "onward", "and later", "on"):
                    yield (start, ""), later
                elif text.after(stop, "or earlier", "or before"):
                    yield ("", last), stop + 2
                else:
                    yield make(start, last), stop


def dated(tables: Tables, verb: str = "", *, born: bool = False) -> tuple[Spot, ...]:
    """The columns of days and years that a time in the question may be about: those of the verb, else the main ones."""
    found = [
        (table, column)
        for table in tables.by_name.values()
        for column in table.columns
        if (column.date or column.year) and (born or not _BORN & set(split(column.name)))
    ]
    if verb:
        wanted = {stem(verb), *map(stem, deeds(verb))}
        by_name = [one for one in found if wanted & set(map(stem, split(one[1].name)))]
        if by_name:
            return tuple(Spot(table.name, (column.name,)) for table, column in by_name)
        found = [one for one in found if wanted & set(map(stem, one[0].words))] or found
    result = []
    for table in {table.name: table for table, _ in found}.values():
        mine = [column for one, column in found if one is table]
        words = _MAIN | set(table.words) | {"at", "on"} | done(table.words[-1])
        main = [one for one in mine if set(split(one.name)) <= words]
        result += [Spot(table.name, (column.name,)) for column in main or mine]
    return tuple(result)


def about(spots: tuple[Spot, ...], days: Range) -> Compare:
    return Compare(spots, "days", days)


def _year(text: Text, at: int) -> int | None:
    value, token = text.number(at), text.token(at)
    return value if isinstance(value, int) and 1400 <= value <= 2200 and token.text.isdigit() else None


def _day(day: date) -> Range:
    return day.isoformat(), date.fromordinal(day.toordinal() + 1).isoformat()


def _valid(text: str) -> bool:
    return _real(*map(int, text.split("-")))


def _real(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
