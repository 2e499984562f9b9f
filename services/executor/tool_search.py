"""Tool search: lexical retrieval (BM25) over names, descriptions and parameters.

Tools of one origin work together: changing an order needs the tool that finds the customer, which no message mentions.
So a tool's score includes that of its origin, computed over the words of all the origin's tools.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from parley.protocol.tools import ToolSpec
from shared.text import tokenize

K1, B = 1.5, 0.75
ORIGIN_WEIGHT = 2  # weight of the origin's score; the tool's own has weight 1
VALUE_NAMES = {  # what tools call a value that looks like this
    r"\w@\w": "email e mail",
    r"\b\d{5}\b": "zip postal code",
}


class Ranking(NamedTuple):
    """`ranked`: all tools, best match first, equal scores by name. `matching`: those that share a word with the query
    in their own text; a match of their origin is not enough.
    """

    ranked: list[ToolSpec]
    matching: list[ToolSpec]


def rank(specs: Sequence[ToolSpec], query: str) -> Ranking:
    query_words = set(_words(_expanded(query)))
    documents = [_document(_text(spec)) for spec in specs]
    origins: dict[str, Counter[str]] = {}
    for spec, document in zip(specs, documents, strict=True):
        origins.setdefault(spec.origin, Counter()).update(document)
    origin_scores = dict(zip(origins, _scores(list(origins.values()), query_words), strict=True))
    own_scores = dict(zip((spec.name for spec in specs), _scores(documents, query_words), strict=True))
    totals = {spec.name: own_scores[spec.name] + ORIGIN_WEIGHT * origin_scores[spec.origin] for spec in specs}
    ranked = sorted(specs, key=lambda spec: (-totals[spec.name], spec.name))
    return Ranking(ranked, [spec for spec in ranked if own_scores[spec.name]])


def _scores(documents: Sequence[Counter[str]], query_words: Set[str]) -> list[float]:
    """BM25 of each document for these words."""
    mean = sum(map(Counter.total, documents)) / max(len(documents), 1) or 1  # all may be empty: only stop words
    # sorted, because a set has no fixed order and a sum of floats depends on it
    weights = {word: _rarity(word, documents) for word in sorted(query_words)}

    def score(document: Counter[str]) -> float:
        norm = K1 * (1 - B + B * document.total() / mean)
        return sum(weight * document[word] * (K1 + 1) / (document[word] + norm) for word, weight in weights.items())

    return [score(document) for document in documents]


def _rarity(word: str, documents: Sequence[Counter[str]]) -> float:
    """The inverse document frequency, in the form that is always positive."""
    having = sum(word in document for document in documents)
    return math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))


def _expanded(query: str) -> str:
    """The query with the names of the kinds of values in it."""
    return " ".join((query, *(names for looks, names in VALUE_NAMES.items() if re.search(looks, query))))


@lru_cache(maxsize=2_048)
def _document(text: str) -> Counter[str]:
    """The word counts of a text. Cached: the tools rarely change, and every plan searches them."""
    return Counter(_words(text))


def _words(text: str) -> list[str]:
    """Lower-case words without stop words, stemmed; camelCase is split."""
    return [_stem(word) for word in tokenize(re.sub(r"([a-z])([A-Z])", r"\1 \2", text))]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _text(spec: ToolSpec) -> str:
    properties = spec.parameters.get("properties")
    parts = [spec.name, spec.name, spec.description]
    for name, field in properties.items() if isinstance(properties, dict) else ():
        parts += (name, str(field.get("description", "")) if isinstance(field, dict) else "")
    return " ".join(parts).replace("_", " ")
