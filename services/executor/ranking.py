"""Which tools fit some words best: lexical retrieval (BM25) over names, descriptions and parameters."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from shared.tools import ToolSpec

_WORD = re.compile(r"[a-z0-9]+")
K1, B = 1.5, 0.75


def best(specs: Sequence[ToolSpec], query: str) -> list[ToolSpec]:
    """All of them, those that share words with the query first, best first; the rest by name."""
    wanted = set(_words(query))
    documents = [Counter(_words(_text(spec))) for spec in specs]
    mean = sum(map(Counter.total, documents)) / len(documents) if documents else 1
    weights = {word: _rarity(word, documents) for word in wanted}

    def score(document: Counter[str]) -> float:
        norm = K1 * (1 - B + B * document.total() / mean)
        return sum(weights[word] * document[word] * (K1 + 1) / (document[word] + norm) for word in wanted)

    scored = [(-score(document), spec.name, spec) for document, spec in zip(documents, specs, strict=True)]
    return [spec for _, _, spec in sorted(scored, key=lambda one: one[:2])]


def _rarity(word: str, documents: Iterable[Counter[str]]) -> float:
    among = list(documents)
    having = sum(word in document for document in among)
    return math.log(1 + (len(among) - having + 0.5) / (having + 0.5))


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
    names = " ".join(properties) if isinstance(properties, dict) else ""
    return f"{spec.name} {spec.name} {spec.description} {names}".replace("_", " ")
