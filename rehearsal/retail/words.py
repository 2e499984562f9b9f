"""Words as the rules compare them: contractions in full, units in one spelling, plurals as singulars."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
_UNITS = (
    'inch inches "|ft foot feet|l liter liters litre litres|lbs lb pound pounds|w watt watts|oz ounce ounces'
    "|g gram grams|lm lumen lumens|mah|f|cup cups|person people persons|piece pieces"
)
_SPELLINGS = "gray grey|color colour colors colours|aluminum aluminium|mic microphone|bicycle bike|rug carpet"
_ONE = {
    **{word: str(number) for number, word in enumerate(_NUMBERS.split(), 1)},
    **{word: line.split()[0] for line in f"{_UNITS}|{_SPELLINGS}".split("|") for word in line.split()},
}
UNITS = frozenset(line.split()[0] for line in _UNITS.split("|"))
_WORD = re.compile(r'\d+(?:\.\d+)?|[^\W\d_]+|(?<=\d)"')
_FULL = (
    (r"(?i)\b(ca)n't\b", r"\1n not"),
    (r"(?i)\bwon't\b", "will not"),
    (r"(?i)n't\b|(?<=\bdo)nt\b|(?<=\bdoes)nt\b", " not"),
    (r"(?i)\bcannot\b", "can not"),
    (r"(?i)\bi'm\b", "I am"),
    (r"(?i)\b(you|we|they)'re\b", r"\1 are"),
    (r"(?i)'d\b", " would"),
    (r"(?i)'ve\b", " have"),
    (r"(?i)\b(it|that|there|what|where|who)'s\b", r"\1 is"),
    (r"\s*(?:->|=>|→)\s*", " change to "),
    (r"[ \t]+", " "),
)


class Token(NamedTuple):
    word: str
    start: int
    end: int


def tidy(text: str) -> str:
    """The text with straight quotes, contractions spelled out and single spaces within a line."""
    text = text.translate(str.maketrans("‘’“”–—\u00a0", "''\"\"-- "))
    for pattern, full in _FULL:
        text = re.sub(pattern, full, text)
    return text.strip()


def tokens(text: str) -> list[Token]:
    """Every word in its one spelling, with its place: `8 feet`, `8-ft` and `8ft` give the same words."""
    found = [(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(text)]
    return [Token(singular(_ONE.get(word, word)), start, end) for word, start, end in found]


def words(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(text))


def singular(word: str) -> str:
    """Good enough to compare nouns: `boots` and `boot`, `glasses` and `glass`."""
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def money(amount: float) -> str:
    return f"${amount:,.2f}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
