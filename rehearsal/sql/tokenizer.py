"""Tokenizes questions for the grammar: tokens, parts of names, numbers, near spellings."""

import re
from dataclasses import dataclass
from functools import lru_cache

from rehearsal.english import NUMBERS, singular, spelled_out

_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]+"|(?<!\w)'[^']+'(?!\w))
    |(?P<id>[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\#\w+)
    |(?P<number>\$?\d+(?:,\d{3})*(?:\.\d+)?(?!\w))
    |(?P<code>[A-Za-z]*\d\w*|[A-Za-z]+_\w+)
    |(?P<possessive>'s?(?!\w))
    |(?P<word>[^\W\d_]+)
    |(?P<mark>[,;:()?!.]|(?<=\s)-(?=\s))
    |(?P<sign>[&+%])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class QuestionToken:
    """`text`: as written. `word`: in lower case and singular."""

    kind: str
    text: str
    word: str


def tokens(text: str) -> list[QuestionToken]:
    """All words and marks of a text. A hyphen separates words."""
    text = re.sub(r"\be-?mail", "email", spelled_out(text), flags=re.IGNORECASE)
    result = []
    for match in _TOKEN.finditer(text):
        kind, written = match.lastgroup or "word", match[0]
        kind = "id" if kind == "code" else kind
        written = written[1:-1] if kind == "quoted" else written
        word = singular(written.lower()) if kind == "word" else written.lower()
        result.append(QuestionToken(kind, written, "and" if written in {"&", "+"} else word))
    return result


def phrases(text: str) -> tuple[str, ...]:
    """Split a comma-separated list of words or phrases."""
    return tuple(text.split(", "))


@lru_cache(maxsize=4096)
def split(name: str) -> tuple[str, ...]:
    """The words of a name: `order_items`, `orderItems` and `Order Items` give the same."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(singular(word.lower()) for word in re.findall(r"[^\W_]+", parted))


def number(token: QuestionToken) -> float | int | None:
    if token.kind == "word":
        return NUMBERS.get(token.word)
    if token.kind != "number":
        return None
    value = float(re.sub(r"[$,]", "", token.text))
    return int(value) if value.is_integer() else value


def near(left: str, right: str) -> bool:
    """Whether the words are equal or differ by one typo: a letter changed, missing, added, or swapped with the next."""
    if abs(len(left) - len(right)) > 1 or left == right:
        return left == right
    start = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    first, second = left[start:], right[start:]
    swapped = first[:2] == second[:2][::-1] and first[2:] == second[2:]
    return swapped or first[1:] == second[1:] or first[1:] == second or first == second[1:]
