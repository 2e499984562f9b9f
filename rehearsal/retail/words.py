"""Words as the rules compare them: numbers, units and sizes in one spelling, with their places in the text."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

NUMBERS = dict(
    zip(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        range(1, 13),
        strict=True,
    )
)
SAME = {
    **{word: str(number) for word, number in NUMBERS.items()},
    **dict.fromkeys(("inches", "inch", "in.", '"'), "inch"),
    **dict.fromkeys(("feet", "foot", "ft"), "ft"),
    **dict.fromkeys(("liter", "liters", "litre", "litres", "l"), "l"),
    **dict.fromkeys(("milliliters", "millilitres", "mls", "ml"), "ml"),
    **dict.fromkeys(("hours", "hour", "hrs", "hr"), "hour"),
    **dict.fromkeys(("pound", "pounds", "lb", "lbs"), "lbs"),
    **dict.fromkeys(("watt", "watts", "w"), "w"),
    **dict.fromkeys(("ounce", "ounces", "oz"), "oz"),
    **dict.fromkeys(("gram", "grams", "g"), "g"),
    **dict.fromkeys(("lumen", "lumens", "lm"), "lm"),
    **dict.fromkeys(("gigabyte", "gigabytes", "gig", "gigs", "gb"), "gb"),
    **dict.fromkeys(("terabyte", "tb"), "tb"),
    **dict.fromkeys(("millimeter", "millimeters", "millimetres", "mm"), "mm"),
    **dict.fromkeys(("megapixel", "megapixels", "mp"), "mp"),
    **dict.fromkeys(("degree", "degrees"), "degree"),
    **dict.fromkeys(("piece", "pieces"), "piece"),
    **dict.fromkeys(("person", "persons", "people"), "person"),
    **dict.fromkeys(("cup", "cups"), "cup"),
    **{"grey": "gray", "colour": "color", "colours": "color", "colors": "color", "mic": "microphone"},
    **{
        "aluminium": "aluminum",
        "rubberized": "rubber",
        "wooden": "wood",
        "woollen": "wool",
        "automatically": "automatic",
    },
    **{"mice": "mouse", "knives": "knife", "shelves": "shelf", "bookshelves": "bookshelf", "analogue": "analog"},
}
LETTERS = {"xs": "extra small", "s": "small", "m": "medium", "l": "large", "xl": "extra large"}
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[\"%#]|'(?![a-z])")
_SHORT = (
    (re.compile(r"\b(ca)n't\b", re.IGNORECASE), r"\1n not"),
    (re.compile(r"\b(wo)n't\b", re.IGNORECASE), r"will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\b(don?t|dont|do't)\b", re.IGNORECASE), "do not"),
    (re.compile(r"\bdoesnt\b", re.IGNORECASE), "does not"),
    (re.compile(r"'m\b", re.IGNORECASE), " am"),
    (re.compile(r"'re\b", re.IGNORECASE), " are"),
    (re.compile(r"'d\b", re.IGNORECASE), " would"),
    (re.compile(r"'ll\b", re.IGNORECASE), " will"),
    (re.compile(r"'ve\b", re.IGNORECASE), " have"),
    (re.compile(r"\b(it|that|there|what|where|here|how|who)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\bwanna\b", re.IGNORECASE), "want to"),
    (re.compile(r"\bgonna\b", re.IGNORECASE), "going to"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
)


class Token(NamedTuple):
    word: str
    start: int
    end: int


def tidy(text: str) -> str:
    """Straight quotes, one kind of dash, contractions spelt out, single spaces within a line."""
    text = re.sub(r"\s*(?:->|=>|→)\s*", " change to ", text)
    text = text.translate(str.maketrans("‘’“”–—\u00a0‑", "''\"\"-- -"))
    for pattern, full in _SHORT:
        text = pattern.sub(full, text)
    return re.sub(r"[ \t]+", " ", text).strip()


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[Token, ...]:
    """The words in one spelling each. `8GB`, `8 gb` and `8-GB` come out the same."""
    found: list[Token] = []
    for match in _WORD.finditer(text):
        word = match[0].lower()
        word = SAME.get(word, word)
        if word == "'":
            continue
        if word == '"':
            if not found or not found[-1].word[0].isdigit() or found[-1].end != match.start():
                continue
            word = "inch"
        if word[0].isdigit():
            word = word.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+", word) else word.rstrip(".,")
        found.append(Token(word, match.start(), match.end()))
    return tuple(found)


def words(text: str) -> tuple[str, ...]:
    return tuple(token.word for token in tokens(text))


def singular(word: str) -> str:
    """Good enough to compare names of things: `boots` and `boot`, `glasses` and `glass`."""
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def find(needle: Sequence[str], hay: Sequence[str]) -> list[int]:
    """Where the words stand in a row."""
    size = len(needle)
    return [at for at in range(len(hay) - size + 1) if tuple(hay[at : at + size]) == tuple(needle)] if size else []


def money(amount: float) -> str:
    """Dollars as the answer writes them."""
    return f"${amount:,.2f}" if amount >= 0 else f"-${-amount:,.2f}"


def listing(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
