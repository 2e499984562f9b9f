"""The check of one invariant: counts and violations."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Violation(NamedTuple):
    """`where`: a session, consumer, table or process."""

    invariant: str
    where: str
    description: str


@dataclass
class InvariantCheck:
    """Counts the checks of one invariant, and collects the violations. `notes`: counts that are no violations."""

    name: str
    title: str
    checked: int = 0
    violations: list[Violation] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    def expect(self, holds: bool, where: str, description: str) -> None:
        self.checked += 1
        if not holds:
            self.violations.append(Violation(self.name, where, description))
