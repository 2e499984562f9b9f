"""Words for people and prompts."""

import re
import unicodedata
from collections.abc import Iterator

MAX_QUERY_TOKENS = 64  # distinct words of a query
MAX_TOKEN_LENGTH = 64  # characters of a word
_COMMON = """
a about after again all also am an and any are as at be because been before being but by can cannot could d
did do does doing don down during each few for from further get had has have having he her here hers him
his how i if in into is it its itself just let like ll m me more most my myself no nor not now of off on
once only or other our out over own please re s same she should so some such t than thank thanks that the
their them then there these they this those through to too under until up us ve very want was we were what
when where which while who whom why will with would you your yours
"""
STOP_WORDS = frozenset(_COMMON.split())
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(  # Thai and Lao, Burmese, Khmer, Japanese, Chinese
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
)


def cut(text: str, most: int) -> str:
    """The text, or its beginning with “…”, in at most this many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tokenize(text: str) -> Iterator[str]:
    """The words of a text in order, without stop words."""
    spaced = _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFKC", text).casefold())
    return (word[:MAX_TOKEN_LENGTH] for word in _WORD.findall(spaced) if word not in STOP_WORDS)


def query_tokens(text: str) -> list[str]:
    """The distinct words of a query, at most `MAX_QUERY_TOKENS`."""
    return list(dict.fromkeys(tokenize(text)))[:MAX_QUERY_TOKENS]
