"""Searches a path: along the ways between nodes, from what the state holds, each node only where its inputs are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from rehearsal.flows.graph import Flow

MISSED, EXTRA, AVOIDED, ASIDE = 30, 10, 1_000, 0.01  # what a path costs beside its length
TRIES = 20_000  # steps that a search may take
LONGEST = 24  # nodes of a path


@dataclass(frozen=True)
class Wish:
    """What a path shall be like: through these nodes, not through those; both only as far as the graph allows.

    `starts` are the nodes it may begin with, `ends` the last ones it may have; empty: any.
    """

    through: tuple[str, ...]
    avoid: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    ends: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Step:
    path: tuple[str, ...]
    known: frozenset[str]


def find_path(flow: Flow, wish: Wish) -> tuple[str, ...] | None:
    """The cheapest path that can be walked, None where there is none."""
    return _Search(flow, wish).path()


def walkable(flow: Flow, path: Sequence[str]) -> bool:
    """Whether a path given from elsewhere can be walked from this state to an end."""
    step = _Step((), flow.have)
    for name in path:
        node = flow.nodes.get(name)
        before = flow.nodes[step.path[-1]] if step.path else None
        if node is None or (before and name not in before.after) or not step.known.issuperset(node.inputs):
            return False
        step = _Step((*step.path, name), step.known | set(node.outputs))
    return bool(step.path) and not flow.nodes[step.path[-1]].after


def without_rounds(path: Iterable[str]) -> tuple[str, ...]:
    """A walked path without what was done twice: repairs and questions that a new request need not repeat."""
    kept: list[str] = []
    for name in path:
        if name in kept:
            del kept[kept.index(name) :]
        kept.append(name)
    return tuple(kept)


class _Search:
    """Always takes the cheapest path so far one node further."""

    def __init__(self, flow: Flow, wish: Wish) -> None:
        self._flow, self._wish = flow, wish
        self._order = count()
        self._heap: list[tuple[float, int, _Step, bool]] = []

    def path(self) -> tuple[str, ...] | None:
        self._go_on(_Step((), self._flow.have), self._wish.starts or tuple(self._flow.nodes), 0.0)
        seen: set[tuple[str, frozenset[str], frozenset[str]]] = set()
        for _ in range(TRIES):
            if not self._heap:
                break
            cost, _, step, ended = heappop(self._heap)
            if ended:
                return step.path
            key = (step.path[-1], step.known, frozenset(step.path))
            if key not in seen:
                seen.add(key)
                self._further(step, cost)
        return None

    def _further(self, step: _Step, cost: float) -> None:
        node = self._flow.nodes[step.path[-1]]
        if not node.after and (not self._wish.ends or node.name in self._wish.ends):
            missed = sum(one not in step.path for one in self._wish.through)
            heappush(self._heap, (cost + MISSED * missed, next(self._order), step, True))
        elif len(step.path) < LONGEST:
            self._go_on(step, node.after, cost)

    def _go_on(self, step: _Step, names: Sequence[str], cost: float) -> None:
        """With each node that has its inputs; one comes once, or as often as the path is to lead through it."""
        for rank, name in enumerate(names):
            node = self._flow.nodes.get(name)
            if node is None or not step.known.issuperset(node.inputs):
                continue
            if step.path.count(name) < max(1, self._wish.through.count(name)):
                follows = _Step((*step.path, name), step.known | set(node.outputs))
                price = cost + 1 + ASIDE * rank + self._price(name)
                heappush(self._heap, (price, next(self._order), follows, False))

    def _price(self, name: str) -> float:
        return EXTRA * (name not in self._wish.through) + AVOIDED * (name in self._wish.avoid)
