"""Reads the words of a question from left to right: the schema's phrases, numbers and comparisons."""

from collections.abc import Callable
from functools import lru_cache

from rehearsal.english import singular
from rehearsal.sql.lexicon import LONGEST, Lexicon, Meaning
from rehearsal.sql.syntax import Spots, Value
from rehearsal.sql.tokenizer import QuestionToken, number, phrases

_ARTICLES = phrases("the, a, an, a single, our, any, of the, of our")
_OWN = phrases("their, his, her, its")
_COMPARE = {
    ">=": ("at least", "no less than"),
    "<=": ("at most", "no more than", "up to"),
    ">": ("more than", "over", "above", "higher than"),
    "<": ("less than", "fewer than", "under", "below", "cheaper than"),
}


class Unclear(Exception):
    """The question was parsed but has no unique meaning over these tables. The message says why."""


@lru_cache(maxsize=1024)
def _longest_first(phrases: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Each phrase with its words."""
    ordered = sorted(phrases, key=len, reverse=True)
    return [(phrase, [singular(word) for word in phrase.split()]) for phrase in ordered]


class Reader:
    """A position in the words of a question. Methods that find nothing return None and do not move it."""

    def __init__(self, read: list[QuestionToken], lexicon: Lexicon) -> None:
        self.tokens, self.lexicon, self.at, self.furthest = read, lexicon, 0, 0
        self._words = [token.word for token in read]

    @property
    def token(self) -> QuestionToken:
        return self.tokens[self.at] if self.at < len(self.tokens) else QuestionToken("end", "", "")

    def take(self, *phrases: str) -> str:
        """Read the longest of these phrases that comes next."""
        for phrase, words in _longest_first(phrases):
            if words == self._words[self.at : self.at + len(words)]:
                self.at += len(words)
                self.furthest = max(self.furthest, self.at)
                return phrase
        return ""

    def skip(self, *phrases: str) -> None:
        while self.take(*phrases):
            pass

    def articles(self) -> None:
        self.skip(*_ARTICLES)

    def first[T](self, *readers: Callable[[], T | None]) -> T | None:
        """The result of the first reader that finds something."""
        start = self.at
        for reader in readers:
            if result := reader():
                return result
            self.at = start
        return None

    def ended(self) -> bool:
        return self.token.kind in {"end", "mark"}

    def term(self, kind: str) -> Meaning | None:
        """The meaning of the longest phrase that names something of this kind: tables, columns or values."""
        for end in range(min(self.at + LONGEST, len(self.tokens)), self.at, -1):
            meaning = self.lexicon.look_up(self.tokens[self.at : end])
            if meaning and getattr(meaning, kind):
                self.at = end
                self.furthest = max(self.furthest, end)
                return meaning
        return None

    def column(self) -> Spots | None:
        """Candidate columns: the best matches of each table."""
        start = self.at
        self.skip(*_ARTICLES, *_OWN)
        meaning = self.term("columns")
        if meaning is None:
            self.at = start
            return None
        best: dict[str, int] = {}
        for spot, rank in meaning.columns.items():
            best[spot.table] = min(rank, best.get(spot.table, rank))
        return tuple(spot for spot, rank in meaning.columns.items() if rank == best[spot.table])

    def columns(self) -> tuple[Spots, ...]:
        """`name`, `names and emails`, `item id, price`."""
        columns: list[Spots] = []
        end = self.at
        while spots := self.column():
            columns.append(spots)
            end = self.at
            self.skip(",", "and", "plus", "with")
        self.at = end
        return tuple(columns)

    def number(self) -> float | int | None:
        value = number(self.token)
        self.at += value is not None
        return value

    def compare(self) -> tuple[str, tuple[Value, ...]] | None:
        """An operator and its numbers: `over 5`, `5 or more`, `between 5 and 7`."""
        start = self.at
        operator = next((symbol for symbol, phrases in _COMPARE.items() if self.take(*phrases)), "")
        between = not operator and self.take("between")
        value = self.number()
        self.skip("dollar", "buck", "euro")
        if value is not None and between:
            upper = self.number() if self.take("and") else None
            self.skip("dollar", "buck", "euro")
            return ("between", (value, upper)) if upper is not None else None
        if value is not None and not operator:
            operator = ">=" if self.take("or more") else "<=" if self.take("or less", "or fewer") else ""
        if value is not None and operator:
            return operator, (value,)
        self.at = start
        return None
