"""Paths that were planned before, for the same request in the same state: bounded, and only of this process."""

import hashlib
import json
from typing import NamedTuple

from cachetools import LRUCache

from parley.protocol.flows import FlowPage
from shared.domain.session import Session

type Chain = tuple[tuple[str, tuple[str, ...]], ...]


class Known(NamedTuple):
    chain: Chain
    reasoning: str


class Paths:
    """At most `size` paths; the one that was not used for longest is forgotten first."""

    def __init__(self, size: int) -> None:
        self._known: LRUCache[str, Known] = LRUCache(maxsize=size)

    def key(self, session: Session, page: FlowPage) -> str:
        """What a plan depends on: the person, their words, the flows, and what their states hold."""
        said = [
            session.words.request,
            session.words.feedback,
            [(said.question, said.answer) for said in session.words.dialogue],
        ]
        knowledge = [(known.name, known.text) for known in session.words.knowledge]
        about = [session.owner, said, knowledge, page.model_dump(mode="json", exclude={"troubles"})]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def find(self, key: str) -> Known | None:
        return self._known.get(key)

    def keep(self, key: str, chain: Chain, reasoning: str) -> None:
        if key and self._known.maxsize:
            self._known[key] = Known(chain, reasoning)

    def __len__(self) -> int:
        return len(self._known)
