"""Which tools fit some words best: lexical retrieval (BM25) over names, descriptions and parameters.

Tools of one origin work together: what changes an order needs what finds the customer, and no message says so. So
every tool also has the score of its origin, which is that of all its tools' words taken together.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence, Set
from functools import lru_cache

from parley.protocol.tools import ToolSpec

_WORD = re.compile(r"[a-z0-9]+")
K1, B = 1.5, 0.75
TOGETHER = 2  # how much the origin's score counts beside the tool's own
LOOKS = {  # what a value in a message is called by the tools that take it
    r"\w@\w": "email e mail",
    r"\b\d{5}\b": "zip postal code",
}


def best(specs: Sequence[ToolSpec], query: str) -> list[ToolSpec]:
    """All of them, best first; those that fit equally well by name."""
    wanted = set(_words(_called(query)))
    documents = [_document(_text(spec)) for spec in specs]
    origins: dict[str, Counter[str]] = {}
    for spec, document in zip(specs, documents, strict=True):
        origins.setdefault(spec.origin, Counter()).update(document)
    together = dict(zip(origins, _scores(list(origins.values()), wanted), strict=True))
    own = zip(specs, _scores(documents, wanted), strict=True)
    scored = [(-(score + TOGETHER * together[spec.origin]), spec.name, spec) for spec, score in own]
    return [spec for _, _, spec in sorted(scored, key=lambda one: one[:2])]


def _scores(documents: Sequence[Counter[str]], wanted: Set[str]) -> list[float]:
    """BM25 of each document for these words."""
    mean = sum(map(Counter.total, documents)) / len(documents) if documents else 1
    weights = {word: _rarity(word, documents) for word in sorted(wanted)}  # in one order: sums of floats depend on it

    def score(document: Counter[str]) -> float:
        norm = K1 * (1 - B + B * document.total() / mean)
        return sum(weight * document[word] * (K1 + 1) / (document[word] + norm) for word, weight in weights.items())

    return [score(document) for document in documents]


def _rarity(word: str, documents: Sequence[Counter[str]]) -> float:
    having = sum(word in document for document in documents)
    return math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))


def _called(query: str) -> str:
    """The query, and what the values in it are called."""
    return " ".join((query, *(names for looks, names in LOOKS.items() if re.search(looks, query))))


@lru_cache(maxsize=2_048)
def _document(text: str) -> Counter[str]:
    """How often each word is in it. Lists of tools change seldom, and are asked for with every plan."""
    return Counter(_words(text))


def _words(text: str) -> list[str]:
    """Lower case, and without the endings that only tell number and tense."""
    return [_stem(word) for word in _WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _text(spec: ToolSpec) -> str:
    properties = spec.parameters.get("properties")
    told = [spec.name, spec.name, spec.description]
    for name, field in properties.items() if isinstance(properties, dict) else ():
        told += (name, str(field.get("description", "")) if isinstance(field, dict) else "")
    return " ".join(told).replace("_", " ")
