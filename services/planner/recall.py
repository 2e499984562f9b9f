"""What the planner recalls of the user's earlier sessions: outcomes that resemble the request, and examples."""

import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import structlog
from cachetools import TTLCache

from parley.events.values import Recalled
from parley.protocol.pages import LibraryEntry
from shared.domain.kernel.session import Session
from shared.domain.kernel.subjects import recall_subject
from shared.llm.embeddings import Embeddings
from shared.store_api import Memories, MemoryRecord, SimilarPage

log = structlog.get_logger("planner")
MAX_RECALLED = 3
MAX_BY_WORDS, MAX_BY_MEANING = 5, 20  # records to request
MAX_QUERY = 5_000  # characters of the request
MAX_FIELD = 500  # characters of each field of a recalled outcome
UNRELATED = "A recipe for bread with olives and rosemary."
MIN_SIMILARITY = 1 / 3  # share of the way from the similarity of an unrelated text to 1: baselines differ by model
MIN_OVERLAP, MIN_COMMON_WORDS = 0.25, 2  # common words: share of the shorter text's words, and count
MIN_WORD_LENGTH = 4  # characters; shorter words carry no meaning
STEM_LENGTH = 5  # characters: "returned" and "returning" share this prefix
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = "\u0e00"  # scripts from here on put no spaces between words
type Vector = Sequence[float]
MAX_EXAMPLES = 3
EMPTY_SECONDS, MAX_EMPTY = 600.0, 10_000  # for which an empty library is remembered, and how many of them
PROJECTED_SECONDS = 10.0  # within which plan_store has surely projected a judgement
Examples = Callable[[Session], Awaitable[Sequence[LibraryEntry]]]


class Asks(Protocol):
    """What is needed of the plan store."""

    async def ask(self, verb: str, **arguments: Any) -> Any: ...


async def recall(store: Asks, embeddings: Embeddings, session: Session) -> tuple[Recalled, ...]:
    """At most three outcomes that were not recalled for this request before. Returns none if recall is off or fails."""
    if not session.settings.recall:
        return ()
    request = session.words.request[:MAX_QUERY]
    try:
        query = {"user": session.owner, "query": request, "exclude": session.id, "limit": MAX_BY_WORDS}
        recent = MAX_BY_MEANING if embeddings.is_available else 0
        query |= {"recent": recent, "subject": recall_subject(session)}
        records = Memories.model_validate(await store.ask("memory.recall", **query)).items
        vectors = await embeddings.embed([request, UNRELATED, *map(_embedded_text, records)]) if records else None
        ranked = map(_as_recalled, rank(request, records, vectors))
        return tuple([each for each in ranked if each not in session.memory.recalled][:MAX_RECALLED])
    except Exception as error:  # the planner can plan without them
        log.warning("nothing_recalled", session=session.id, error=repr(error)[:500])
        return ()


def recalls_now(session: Session) -> bool:
    """Whether the next turn recalls: it is the first of its request, or the subject has become known since."""
    subject = recall_subject(session)
    became_known = bool(subject) and subject != session.memory.recalled_for
    return became_known or session.counts.turns == session.counts.turns_before


def rank(request: str, records: Sequence[MemoryRecord], vectors: Sequence[Vector] | None) -> list[MemoryRecord]:
    """The records that resemble the request, best first.

    `vectors` are those of the request, of an unrelated text, and of each record. With them the order is by cosine
    similarity plus a small share of the word overlap. Without them the store's order stays, and a record needs enough
    words in common.
    """
    if vectors is None:
        return [record for record in records if record.score and _overlap(request, record.request) >= MIN_OVERLAP]
    request_vector, unrelated, *record_vectors = vectors
    threshold = cosine(request_vector, unrelated)
    threshold += MIN_SIMILARITY * (1 - threshold)
    scored = [
        (cosine(request_vector, vector) + 0.1 * _overlap(request, record.request), record)
        for vector, record in zip(record_vectors, records, strict=True)
    ]
    return [record for weight, record in sorted(scored, key=lambda pair: -pair[0]) if weight >= threshold]


def cosine(left: Vector, right: Vector) -> float:
    """The cosine similarity of two vectors; 0 for a zero vector."""
    lengths = math.hypot(*left) * math.hypot(*right)
    return math.sumprod(left, right) / lengths if lengths else 0.0


def _overlap(left: str, right: str) -> float:
    """The share of the shorter text's words that the other has too; 0 if they share a single word of several."""
    left_words, right_words = _words(left), _words(right)
    common, shorter = len(left_words & right_words), min(len(left_words), len(right_words))
    return common / shorter if common >= min(MIN_COMMON_WORDS, shorter) and shorter else 0.0


def _words(text: str) -> set[str]:
    """The stems of meaningful words; for scripts without spaces, pairs of characters."""
    stems: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if max(word) >= _UNSPACED:
            stems |= {word[k : k + 2] for k in range(max(1, len(word) - 1))}
        elif len(word) >= MIN_WORD_LENGTH or word.isdigit():
            stems.add(word[:STEM_LENGTH])
    return stems


def _embedded_text(record: MemoryRecord) -> str:
    return f"{record.request}\n{record.outcome[:MAX_FIELD]}"


def _as_recalled(record: MemoryRecord) -> Recalled:
    fields = {name: getattr(record, name)[:MAX_FIELD] for name in ("request", "outcome", "lesson")}
    return Recalled(session_id=record.session_id, **fields)


class SimilarExamples:
    """Finds library entries with the path or steps that led to their answers.

    Where a user's library has none to compare, plan_store is not asked again for `EMPTY_SECONDS`, unless somebody
    judges an answer meanwhile. `now` is the clock in seconds.
    """

    def __init__(self, store: Asks, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._empty: TTLCache[tuple[str, str, str], bool] = TTLCache(MAX_EMPTY, EMPTY_SECONDS, timer=now)
        self._judged_at = -math.inf

    async def find(self, session: Session) -> tuple[LibraryEntry, ...]:
        """None if recall is off or the request fails."""
        library = (session.owner, session.workflow, recall_subject(session))
        if not session.settings.recall or library in self._empty:
            return ()
        try:
            page = await self._ask(session.words.request[:MAX_QUERY], *library)
        except Exception as error:  # the planner can plan without examples
            log.warning("no_examples", session=session.id, error=repr(error)[:500])
            return ()
        if page.compared == 0 and self._now() - self._judged_at > PROJECTED_SECONDS:
            self._empty[library] = True
        return tuple(entry for entry in page.items if entry.path or entry.steps)

    async def on_judged(self, subject: str, data: bytes) -> None:
        """Ask again, on `feed.*.*.answer.judged`: a library may have its first entry now, once it is projected."""
        self._judged_at = self._now()
        self._empty.clear()

    async def _ask(self, request: str, user: str, workflow: str, subject: str) -> SimilarPage:
        query = {"user": user, "query": request, "workflow": workflow, "limit": MAX_EXAMPLES, "subject": subject}
        return SimilarPage.model_validate(await self._store.ask("library.similar", **query))


async def no_examples(_: Session) -> Sequence[LibraryEntry]:
    """No examples, for a planner without a library."""
    return ()


def example_line(entry: LibraryEntry) -> str:
    """A request and how it was carried out, as one line."""
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in entry.steps]
    way = {"path": entry.path} if entry.path else {"steps": steps}
    return json.dumps({"request": entry.request, **way}, ensure_ascii=False)
