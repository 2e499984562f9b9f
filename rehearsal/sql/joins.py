"""How tables are connected: keys and references as a graph, and the shortest path between two tables."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rehearsal.sql.schema import Table, Tables


class JoinStep(NamedTuple):
    """A join from one table to another on equal columns. `many`: a row may match several."""

    start: str
    end: str
    pairs: tuple[tuple[str, str], ...]
    many: bool


Path = tuple[JoinStep, ...]


class Joins:
    def __init__(self, tables: Tables) -> None:
        self._steps: dict[str, list[JoinStep]] = {name: [] for name in tables.by_name}
        for table in tables.by_name.values():
            for step in _references(table, tables):
                back = tuple((theirs, mine) for mine, theirs in step.pairs)
                self._steps[step.start].append(step)
                many = set(table.key) != {mine for mine, _ in step.pairs}
                self._steps[step.end].append(JoinStep(step.end, step.start, back, many))
        self.path = lru_cache(maxsize=None)(self._path)

    def _path(self, start: str, end: str) -> Path | None:
        """The shortest path, never through a common parent of both; None if there is none."""
        queue: list[tuple[str, Path]] = [(start, ())]
        for at, path in queue:
            if at == end:
                return path
            passed = {start, *(step.end for step in path)}
            queue += [
                (step.end, (*path, step))
                for step in self._steps[at]
                if step.end not in passed and (not step.many or not path or path[-1].many)
            ]
        return None


def single(path: Path) -> bool:
    """Whether a row matches at most one row at the end of the path."""
    return not any(step.many for step in path)


def _references(table: Table, tables: Tables) -> Iterator[JoinStep]:
    """The references of one table. Those that together form the key of another table are one step."""
    by_table: dict[str, list[tuple[str, str]]] = {}
    for column in table.columns:
        there, _, key = (column.references or "").partition(".")
        if there in tables.by_name and key in tables[there].names:
            by_table.setdefault(there, []).append((column.name, key))
    for there, pairs in by_table.items():
        if len(pairs) > 1 and {key for _, key in pairs} == set(tables[there].key):
            yield JoinStep(table.name, there, tuple(pairs), many=False)
        else:
            yield from (JoinStep(table.name, there, (pair,), many=False) for pair in pairs)
