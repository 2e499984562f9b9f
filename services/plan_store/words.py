"""Text as its words, for the full-text index and for questions to it: the same on SQLite and PostgreSQL.

Only letters and digits are left, so no word can be an operator of either database's query language. Characters of
scripts that put no space between words count as words by themselves. The databases add their English stemming.
"""

import re
import unicodedata
from collections.abc import Iterator

ASKED = 64  # different words of a question
LONGEST = 64  # characters of a word
_COMMON = """
a about after again all also am an and any are as at be because been before being but by can cannot could d
did do does doing don down during each few for from further get had has have having he her here hers him
his how i if in into is it its itself just let like ll m me more most my myself no nor not now of off on
once only or other our out over own please re s same she should so some such t than thank thanks that the
their them then there these they this those through to too under until up us ve very want was we were what
when where which while who whom why will with would you your yours
"""
STOP = frozenset(_COMMON.split())
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(  # Thai and Lao, Burmese, Khmer, Japanese, Chinese
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
)


def words(text: str) -> Iterator[str]:
    """The words of a text in their order, without those that are in every text."""
    spaced = _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFKC", text).casefold())
    return (word[:LONGEST] for word in _WORD.findall(spaced) if word not in STOP)


def asked(text: str) -> list[str]:
    """The different words of a question, as many as are looked for."""
    return list(dict.fromkeys(words(text)))[:ASKED]
