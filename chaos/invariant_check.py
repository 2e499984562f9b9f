"""The check of one invariant: counts, violations and its result."""

from collections import Counter
from typing import NamedTuple


class Violation(NamedTuple):
    """`where`: a session, consumer, table or process."""

    invariant: str
    where: str
    description: str


class InvariantResult(NamedTuple):
    name: str
    title: str
    checked: int
    violations: tuple[Violation, ...]
    notes: tuple[str, ...] = ()  # counts that are no violations


class InvariantCheck:
    """Counts the checks of one invariant, and collects the violations."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.checked = 0
        self.violations: list[Violation] = []
        self.notes: Counter[str] = Counter()

    def expect(self, holds: bool, where: str, description: str) -> None:
        self.checked += 1
        if not holds:
            self.violations.append(Violation(self.name, where, description))

    def result(self) -> InvariantResult:
        notes = tuple(f"{count} {text}" for text, count in sorted(self.notes.items()))
        return InvariantResult(self.name, self.title, self.checked, tuple(self.violations), notes)
