"""Paths that were planned before, for the same request in the same state: bounded, and only of this process."""

import hashlib
import json
from collections import OrderedDict
from typing import NamedTuple

from shared.domain.session import Session
from shared.flows import FlowPage

type Chain = tuple[tuple[str, tuple[str, ...]], ...]


class Known(NamedTuple):
    chain: Chain
    reasoning: str


class Paths:
    """At most `size` paths; the one that was not used for longest is forgotten first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._known: OrderedDict[str, Known] = OrderedDict()

    def key(self, session: Session, page: FlowPage) -> str:
        """What a plan depends on: the person, their words, the flows, and what their states hold."""
        said = [session.request, session.feedback, [(said.question, said.answer) for said in session.dialogue]]
        knowledge = [(known.name, known.text) for known in session.knowledge]
        about = [session.owner, said, knowledge, page.model_dump(mode="json", exclude={"troubles"})]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def find(self, key: str) -> Known | None:
        if not key or key not in self._known:
            return None
        self._known.move_to_end(key)
        return self._known[key]

    def keep(self, key: str, chain: Chain, reasoning: str) -> None:
        if not key or not self._size:
            return
        self._known[key] = Known(chain, reasoning)
        self._known.move_to_end(key)
        while len(self._known) > self._size:
            self._known.popitem(last=False)

    def __len__(self) -> int:
        return len(self._known)
