"""A bounded cache of planned paths, for the same request in the same state. Each process has its own."""

import hashlib
import json
from typing import NamedTuple

from cachetools import LRUCache

from parley.protocol.flows import FlowPage
from shared.domain.session import Session
from shared.domain.subjects import memory_subject, recall_subject
from shared.domain.transcript_queries import said_since_request

type Chain = tuple[tuple[str, tuple[str, ...]], ...]


class CachedPath(NamedTuple):
    chain: Chain
    reasoning: str


class PathCache:
    """Holds at most `size` paths and evicts the least recently used."""

    def __init__(self, size: int) -> None:
        self._paths: LRUCache[str, CachedPath] = LRUCache(maxsize=size)

    def key(self, session: Session, page: FlowPage) -> str:
        """A hash of what a path depends on: the user, their words, the flows, and the flows' states.

        It is the same only for sessions about the same subject. One that may be about somebody unknown shares no path.
        """
        words = [session.words.request, said_since_request(session)]
        knowledge = [(known.name, known.text) for known in session.words.knowledge]
        may_share = session.subjects == "unstated" or memory_subject(session) is not None
        subject = recall_subject(session) if may_share else f"session {session.id}"
        parts = [session.owner, subject, words, knowledge, page.model_dump(mode="json", exclude={"troubles"})]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def get(self, key: str) -> CachedPath | None:
        return self._paths.get(key)

    def put(self, key: str, chain: Chain, reasoning: str) -> None:
        if key and self._paths.maxsize:
            self._paths[key] = CachedPath(chain, reasoning)

    def __len__(self) -> int:
        return len(self._paths)
