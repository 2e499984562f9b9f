"""Words as the grammar compares them: kinds of tokens, one spelling of each word, numbers, distance of spellings."""

import re
from dataclasses import dataclass
from functools import lru_cache

NUMBERS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ]
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100, "thousand": 1000, "dozen": 12}
_SHORT = (
    (re.compile(r"\bcan't\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\b(who|what|where|which|how|there|that|when)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"'(re|ve|ll)\b", re.IGNORECASE), lambda match: {"re": " are", "ve": " have", "ll": " will"}[match[1]]),
    (re.compile(r"\be-mail", re.IGNORECASE), "email"),
    (re.compile(r"\bid's\b", re.IGNORECASE), "ids"),
)
_TOKEN = re.compile(
    r"""(?P<quoted>"[^"]+"|(?<!\w)'[^']+'(?!\w))
    |(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    |(?P<date>\d{4}-\d{2}-\d{2})
    |(?P<number>\$?\d+(?:,\d{3})*(?:\.\d+)?(?=[^\w]|$|k\b|st\b|nd\b|rd\b|th\b)k?(?:st\b|nd\b|rd\b|th\b)?%?)
    |(?P<id>\#\w+|[A-Za-z]+\w*(?:_\w+|\d\w*)|\d+[A-Za-z]\w*)
    |(?P<possessive>'s?(?!\w))
    |(?P<word>[^\W\d_]+)
    |(?P<operator><=|>=|<>|!=|<|>|=)
    |(?P<mark>[,;:()+&]|[.?!](?=\s|$))""",
    re.VERBOSE,
)
_IRREGULAR = {
    "people": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "knives": "knife",
    "shelves": "shelf",
    "lives": "live",
    "series": "series",
    "movies": "movie",
    "statuses": "status",
    "currencies": "currency",
    "means": "means",
    "ids": "id",
    "canceled": "cancelled",
    "does": "does",
    "has": "has",
    "was": "was",
    "is": "is",
    "this": "this",
    "us": "us",
    "vs": "vs",
}


_MARKS = {"+": "and", "&": "and", ".": ",", "?": ",", "!": ",", ":": ",", ";": ","}


@dataclass(frozen=True)
class Token:
    """`word` is lower case and in one spelling (singular); `text` is as it was written."""

    kind: str
    text: str
    word: str

    @property
    def capital(self) -> bool:
        return self.text[:1].isupper()


def tidy(text: str) -> str:
    """Straight quotes, contractions spelt out."""
    text = text.translate(str.maketrans("‘’“”–—\u00a0‑", "''\"\"-- -"))
    for pattern, full in _SHORT:
        text = pattern.sub(full, text)
    return text


def tokens(text: str) -> list[Token]:
    """The words and marks of a question; ends of sentences are dropped, hyphens part words."""
    found = []
    for match in _TOKEN.finditer(tidy(text)):
        kind, written = match.lastgroup or "word", match[0]
        if kind == "quoted":
            found.append(Token(kind, written[1:-1], written[1:-1].lower()))
        elif kind == "word":
            found.append(Token(kind, written, singular(written.lower())))
        else:
            found.append(Token(kind, written, _MARKS.get(written, written.lower())))
    while found and found[-1].kind == "mark":
        found.pop()
    return found


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """One spelling for the singular and the plural; the same for a question's words and a schema's."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


@lru_cache(maxsize=4096)
def split(name: str) -> tuple[str, ...]:
    """The words of a name or a value: `order_items`, `orderItems`, `Order Items` come out the same."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(singular(word.lower()) for word in re.findall(r"[^\W_]+", parted))


def number(token: Token) -> float | int | None:
    """The number that a token stands for, if it does."""
    if token.kind == "word":
        return NUMBERS.get(token.word)
    if token.kind != "number":
        return None
    text = re.sub(r"[$,%]|(?:st|nd|rd|th)$", "", token.word)
    factor = 1000 if text.endswith("k") else 1
    value = float(text.rstrip("k")) * factor
    return int(value) if value.is_integer() else value


def near(left: str, right: str) -> bool:
    """Whether one letter was changed, left out, added, or swapped with its neighbour."""
    if abs(len(left) - len(right)) > 1 or left == right:
        return left == right
    start = next((at for at, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    first, second = left[start:], right[start:]
    swapped = first[:2] == second[:2][::-1] and first[2:] == second[2:]
    return swapped or first[1:] == second[1:] or first[1:] == second or first == second[1:]


def shape(text: str) -> str:
    """The form of an id: `#W9` for `#W1005766`; texts of one shape may be values of one column."""
    return re.sub(r"[a-z]+", "a", re.sub(r"\d+", "9", text))
