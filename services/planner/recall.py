"""What earlier sessions of the same owner came to, as far as it bears on the request at hand: hints for the first plan.

plan_store finds them by their words. Where the endpoint makes vectors of texts they are also compared by meaning.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from parley.events.values import Recalled
from shared.domain.session import Session
from shared.llm.embeddings import Embeddings
from shared.store_api import Memories, MemoryRecord

log = structlog.get_logger("planner")
TOLD = 3
FOUND, RECENT = 5, 20  # asked for: by their words, and for the comparison by meaning
ASKED = 5_000  # characters of the request
CUT = 500  # characters of each field that is told
UNRELATED = "A recipe for bread with olives and rosemary."
ALIKE = 1 / 3  # of the way from as alike as something unrelated to the same: models differ in where they begin
SHARED, AT_LEAST = 0.25, 2  # words that both have: as a share of those of the shorter one, and how many
LONG = 4  # characters from which on a word says something by itself
STEM = 5  # characters in which "returned" and "returning" are the same
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = "\u0e00"  # from here on are the scripts that put no space between words
type Vector = Sequence[float]


class Asks(Protocol):
    """What is needed of the plan store."""

    async def ask(self, verb: str, **arguments: Any) -> Any: ...


async def recall(store: Asks, embeddings: Embeddings, session: Session) -> tuple[Recalled, ...]:
    """At most three memories for the first turn of a request; none where anything goes wrong."""
    if not session.settings.recall or session.counts.turns > session.counts.turns_before:
        return ()
    request = session.words.request[:ASKED]
    try:
        wanted = {"user": session.owner, "query": request, "exclude": session.id, "limit": FOUND}
        recent = RECENT if embeddings.offered else 0
        records = Memories.model_validate(await store.ask("memory.recall", **wanted, recent=recent)).items
        vectors = await embeddings.embed([request, UNRELATED, *map(_text, records)]) if records else None
        return tuple(map(_told, rank(request, records, vectors)[:TOLD]))
    except Exception as error:  # whatever it is: a plan can be made without
        log.warning("nothing_recalled", session=session.id, error=repr(error)[:500])
        return ()


def rank(request: str, records: Sequence[MemoryRecord], vectors: Sequence[Vector] | None) -> list[MemoryRecord]:
    """The records that are about the same, best first.

    With vectors (the request's, that of something unrelated, then one for each record) by meaning, and words in common
    count a little; without them as the store found them, where they have enough words in common.
    """
    if vectors is None:
        return [one for one in records if one.score and _in_common(request, one.request) >= SHARED]
    mine, unrelated, *theirs = vectors
    least = cosine(mine, unrelated)
    least += ALIKE * (1 - least)
    weighed = [
        (cosine(mine, vector) + 0.1 * _in_common(request, one.request), one)
        for vector, one in zip(theirs, records, strict=True)
    ]
    return [one for weight, one in sorted(weighed, key=lambda pair: -pair[0]) if weight >= least]


def cosine(one: Vector, other: Vector) -> float:
    """How alike two vectors are: 1 the same direction, 0 nothing in common."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return math.sumprod(one, other) / lengths if lengths else 0.0


def _in_common(one: str, other: str) -> float:
    """The share of the shorter text's words that the other has too; a single one of several is chance."""
    mine, others = _words(one), _words(other)
    both, shorter = len(mine & others), min(len(mine), len(others))
    return both / shorter if both >= min(AT_LEAST, shorter) and shorter else 0.0


def _words(text: str) -> set[str]:
    """The beginnings of the words that say something; where nothing is between words, pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if max(word) >= _UNSPACED:
            found |= {word[k : k + 2] for k in range(max(1, len(word) - 1))}
        elif len(word) >= LONG or word.isdigit():
            found.add(word[:STEM])
    return found


def _text(record: MemoryRecord) -> str:
    return f"{record.request}\n{record.outcome[:CUT]}"


def _told(record: MemoryRecord) -> Recalled:
    cut = {name: getattr(record, name)[:CUT] for name in ("request", "outcome", "lesson")}
    return Recalled(session_id=record.session_id, **cut)
