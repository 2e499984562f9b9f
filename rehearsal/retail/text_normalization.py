"""Normalizes words for comparison: expands contractions, unifies spellings of units, and singularizes plurals."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rehearsal.english import NUMBERS, singular, spelled_out

_UNITS = (
    'inch inches "|ft foot feet|l liter liters litre litres|lbs lb pound pounds|w watt watts|oz ounce ounces'
    "|g gram grams|lm lumen lumens|mah|f|cup cups|person people persons|piece pieces"
)
_SPELLINGS = "gray grey|color colour colors colours|aluminum aluminium|mic microphone|bicycle bike|rug carpet"
_CANONICAL = {
    **{word: str(number) for word, number in NUMBERS.items()},
    **{word: line.split()[0] for line in f"{_UNITS}|{_SPELLINGS}".split("|") for word in line.split()},
}
UNITS = frozenset(line.split()[0] for line in _UNITS.split("|"))
_WORD = re.compile(r'\d+(?:\.\d+)?|[^\W\d_]+|(?<=\d)"')


class WordToken(NamedTuple):
    word: str
    start: int
    end: int


def normalize(text: str) -> str:
    """The text with straight quotes, expanded contractions and single spaces within a line."""
    changed = re.sub(r"\s*(?:->|=>|→)\s*", " change to ", spelled_out(text))
    return re.sub(r"[ \t]+", " ", changed).strip()


def tokens(text: str) -> list[WordToken]:
    """Every word in its canonical spelling, with its position: `8 feet`, `8-ft` and `8ft` give the same words."""
    matches = [(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(text)]
    return [WordToken(singular(_CANONICAL.get(word, word)), start, end) for word, start, end in matches]


def words(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(text))


def money(amount: float) -> str:
    return f"${amount:,.2f}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
