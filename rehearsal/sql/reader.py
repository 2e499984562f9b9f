"""The words of a question, read from left to right, with the schema's phrases and the times among them."""

from collections.abc import Callable
from datetime import date
from functools import lru_cache

from rehearsal.sql.lexicon import LONGEST, Lexicon, Meaning, stems
from rehearsal.sql.syntax import DATE, Filter, Spot, Spots, Value
from rehearsal.sql.words import Token, number, phrases, singular

MONTHS = phrases("january, february, march, april, may, june, july, august, september, october, november, december")
_ARTICLES = phrases("the, a, an, our, any, a single, of the, of our")
_OWN = phrases("their, his, her, its, of their")
_CURRENCY = phrases("dollar, buck, euro, usd")
_COMPARE = {
    ">=": ("at least", "no less than", "not less than"),
    "<=": ("at most", "no more than", "not more than", "up to"),
    ">": ("more than", "over", "above", "greater than", "higher than", "exceeding"),
    "<": ("less than", "fewer than", "under", "below", "lower than", "cheaper than"),
}
Days = tuple[str, str]


class Unclear(Exception):
    """The question is understood but has no one meaning over these tables. The message says why."""


@lru_cache(maxsize=1024)
def _words(phrase: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in phrase.split())


class Reader:
    """A position in the words of a question. What reads returns None, and stays where it was, if it finds nothing."""

    def __init__(self, read: list[Token], lexicon: Lexicon) -> None:
        self.tokens, self.lexicon, self.at, self.furthest = read, lexicon, 0, 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "", "")

    def take(self, *phrases: str) -> bool:
        """Read the longest of these phrases that comes next."""
        for phrase in sorted(phrases, key=len, reverse=True):
            words = _words(phrase)
            if words == tuple(token.word for token in self.tokens[self.at : self.at + len(words)]):
                self.at += len(words)
                self.furthest = max(self.furthest, self.at)
                return True
        return False

    def skip(self, *phrases: str) -> None:
        while self.take(*phrases):
            pass

    def first[T](self, *readers: Callable[[], T | None]) -> T | None:
        """What the first of these finds."""
        start = self.at
        for reader in readers:
            if (found := reader()) is not None:
                return found
            self.at = start
        return None

    def ended(self) -> bool:
        return self.token.kind in {"end", "mark"}

    # --- phrases of the schema

    def term(self, *, kind: str = "") -> Meaning | None:
        """The longest phrase that means something here; `kind`: a table, a column or a value."""
        for end in range(min(self.at + LONGEST, len(self.tokens)), self.at, -1):
            meaning = self.lexicon.look_up(self.tokens[self.at : end])
            if meaning and (not kind or getattr(meaning, kind)):
                self.at = end
                self.furthest = max(self.furthest, end)
                return meaning
        return None

    def articles(self) -> None:
        self.skip(*_ARTICLES)

    def column(self) -> Spots | None:
        """Candidates for a column: of each table those that the phrase fits best."""
        start = self.at
        self.skip(*_ARTICLES, *_OWN)
        if self.take("first and last name", "full name"):
            named = [table for table in self.lexicon.tables.by_name.values() if table.full_name]
            return tuple(Spot(table.name, table.full_name) for table in named)
        meaning = self.term()
        if meaning is None or not meaning.columns:
            self.at = start
            return None
        best: dict[str, int] = {}
        for spot, rank in meaning.columns.items():
            best[spot.table] = min(rank, best.get(spot.table, rank))
        return tuple(spot for spot, rank in meaning.columns.items() if rank == best[spot.table])

    def columns(self) -> tuple[Spots, ...]:
        """`name`, `names and emails`, `item id, price`."""
        found: list[Spots] = []
        end = self.at
        while (spots := self.column()) is not None:
            found.append(spots)
            end = self.at
            self.skip(",", "and", "plus", "with", "along with", "together with")
        self.at = end
        return tuple(found)

    # --- numbers and times

    def number(self) -> float | int | None:
        value = number(self.token)
        if value is not None:
            self.at += 1
        return value

    def compare(self, *, bare: bool = False) -> tuple[str, tuple[Value, ...]] | None:
        """An operator and its numbers: `over 5`, `5 or more`, `between 5 and 7`; `bare`: 5 alone is exactly 5."""
        start = self.at
        found: tuple[str, tuple[Value, ...]] | None = None
        operator = next((one for one, phrases in _COMPARE.items() if self.take(*phrases)), "")
        between = not operator and self.take("between", "from")
        exactly = not operator and not between and self.take("exactly", "precisely")
        value = self.number()
        self.skip(*_CURRENCY)
        if value is not None and operator:
            found = operator, (value,)
        elif value is not None and between:
            upper = self.number() if self.take("and", "to") else None
            found = ("between", (value, upper)) if upper is not None else None
        elif value is not None and self.take("or more", "and more", "or above"):
            found = ">=", (value,)
        elif value is not None and self.take("or less", "or fewer", "or below"):
            found = "<=", (value,)
        elif value is not None and (exactly or bare):
            found = "=", (value,)
        self.skip(*_CURRENCY)
        if found is None:
            self.at = start
        return found

    def when(self) -> Filter | None:
        """A time, as a range of days of the verb's column or of the row's only date: `in 2024`, `since March 2024`."""
        start = self.at
        spots = self.dated() or DATE
        found = self._range()
        if found is None:
            self.at = start
            return None
        return Filter(tuple((spot, found) for spot in spots), "date")

    def dated(self) -> Spots:
        """The columns of dates that the next verb names: `returned`, `joined`."""
        tables = self.lexicon.tables.by_name.values()
        words = {self.token.word} if self.token.kind == "word" else set()
        spots = tuple(Spot(table.name, (one.name,)) for table in tables for one in table.columns if stems(words, one))
        self.at += bool(spots)
        return spots

    def _range(self) -> Days | None:
        if self.take("between", "from"):
            first, last = self._period(), self._period() if self.take("and", "to", "until") else None
            return (first[0], last[1]) if first and last else None
        for words, build in (
            (("since", "starting"), lambda days: (days[0], "")),
            (("after",), lambda days: (days[1], "")),
            (("before",), lambda days: ("", days[0])),
            (("until", "up to"), lambda days: ("", days[1])),
            (("in", "during", "on"), lambda days: days),
        ):
            if self.take(*words):
                days = self._period()
                return build(days) if days else None
        return None

    def _period(self) -> Days | None:
        """A day, a month or a year: the first day, and the day after the last."""
        self.skip("the", "year", "month", "of")
        if self.token.kind == "date":
            self.at += 1
            return _day(self.tokens[self.at - 1].text)
        month = MONTHS.index(self.token.word) + 1 if self.token.word in MONTHS else 0
        self.at += bool(month)
        year = number(self.token)
        if not isinstance(year, int) or not 1400 <= year <= 2200:
            return None
        self.at += 1
        if month:
            return f"{year}-{month:02}-01", date(year + month // 12, month % 12 + 1, 1).isoformat()
        return f"{year}-01-01", f"{year + 1}-01-01"


def _day(text: str) -> Days | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return text, date.fromordinal(day.toordinal() + 1).isoformat()
