"""Normalizes English words for comparison: contractions, plurals, numbers."""

import re
from functools import lru_cache

_SMALL = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
NUMBERS = {word: number for number, word in enumerate(_SMALL)}
_CONTRACTIONS = (
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"n't\b|(?<=\bdo)nt\b|(?<=\bdoes)nt\b", " not"),
    (r"\bi'm\b", "I am"),
    (r"\b(you|we|they)'re\b", r"\1 are"),
    (r"'d\b", " would"),
    (r"'ve\b", " have"),
    (r"\b(it|that|there|what|where|who|which|how)'s\b", r"\1 is"),
)
_IRREGULAR = {"people": "person", "children": "child", "statuses": "status", "canceled": "cancelled", "ids": "id"}
_IRREGULAR |= {f"{word}s": word for word in ("beanie", "hoodie", "movie")}
_IRREGULAR |= {word: word for word in ("does", "has", "was", "is", "this", "us", "series", "lives", "its")}


def spelled_out(text: str) -> str:
    """The text with straight quotes and without contractions."""
    text = text.translate(str.maketrans("‘’“”–—\u00a0", "''\"\"-- "))
    for pattern, full in _CONTRACTIONS:
        text = re.sub(pattern, full, text, flags=re.IGNORECASE)
    return text


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """Good enough to compare nouns: `boots` and `boot`, `glasses` and `glass`."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
