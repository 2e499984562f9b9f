"""How tables hang together: keys and references as a graph, and the shortest path between two tables."""

import heapq
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from rehearsal.sql.tables import Table, Tables
from rehearsal.sql.words import split

DOWN, SIBLING = 1.2, 1.5  # what a step to the many side costs, and what a parent in common costs besides


class Step(NamedTuple):
    """From one table to another; `pairs` are the columns that are equal. `many`: a row may find several."""

    start: str
    end: str
    pairs: tuple[tuple[str, str], ...]
    many: bool


Path = tuple[Step, ...]


class Joins:
    """The graph of some tables."""

    def __init__(self, tables: Tables) -> None:
        self._steps: dict[str, list[Step]] = {table.name: [] for table in tables.by_name.values()}
        for table in tables.by_name.values():
            for step in _ups(table, tables):
                self._steps[step.start].append(step)
                back = tuple((theirs, mine) for mine, theirs in step.pairs)
                single = set(table.key) == {mine for mine, _ in step.pairs}
                self._steps[step.end].append(Step(step.end, step.start, back, many=not single))
        self.path = lru_cache(maxsize=None)(self._path)

    def references(self, table: str) -> int:
        """How many other tables its rows point at."""
        return sum(not step.many for step in self._steps[table])

    def reach(self, start: str, end: str) -> float | None:
        """What the way from one table to the other costs; None where there is none."""
        found = self.path(start, end)
        return None if found is None else found[0]

    def _path(self, start: str, end: str) -> tuple[float, Path] | None:
        order = count()
        queue: list[tuple[float, int, str, Path]] = [(0.0, next(order), start, ())]
        seen: set[tuple[str, bool]] = set()
        while queue:
            cost, _, at, path = heapq.heappop(queue)
            if at == end:
                return cost, path
            state = (at, bool(path) and not path[-1].many)
            if state in seen:
                continue
            seen.add(state)
            for step in self._steps[at]:
                if step.end not in {one.start for one in path}:
                    sibling = SIBLING if path and not path[-1].many and step.many else 0.0
                    further = cost + (DOWN if step.many else 1.0) + sibling + 0.05 * (len(step.pairs) - 1)
                    heapq.heappush(queue, (further, next(order), step.end, (*path, step)))
        return None


def single(path: Path) -> bool:
    """Whether a row finds at most one at the end of this path."""
    return not any(step.many for step in path)


def _ups(table: Table, tables: Tables) -> Iterator[Step]:
    """The references of one table, those of several columns to one key taken together."""
    found: dict[str, list[tuple[str, str]]] = {}
    for column in table.columns:
        there, _, key = column.references.partition(".")
        if there in tables.by_name and key in tables[there].names:
            found.setdefault(there, []).append((column.name, key))
        elif not column.references and (guessed := _guess(table, column.name, tables)):
            found.setdefault(guessed[0], []).append((column.name, guessed[1]))
    for there in sorted(found, key=lambda name: len(found[name])):
        pairs = found[there]
        keys = [key for _, key in pairs]
        if len(keys) > 1 and set(keys) == set(tables[there].key) and len(set(keys)) == len(keys):
            yield Step(table.name, there, tuple(pairs), many=False)
        else:
            yield from (Step(table.name, there, (pair,), many=False) for pair in pairs)


def _guess(table: Table, column: str, tables: Tables) -> tuple[str, str] | None:
    """A reference that is not declared: `book_id` where books have `book_id` or `id` as their key."""
    if any(one.references for other in tables.by_name.values() for one in other.columns):
        return None
    words = split(column)
    for other in tables.by_name.values():
        key = other.key[0] if len(other.key) == 1 else ""
        named = words[:-1] in (other.words, other.words[-1:]) and words[-1:] == ("id",)
        if key and other.name != table.name and (column == key != "id" or (named and split(key)[-1] == "id")):
            return other.name, key
    return None
