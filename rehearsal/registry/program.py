"""The registry entry of a program. `words`: phrases that name it, separated by commas."""

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Feature:
    """An extra that a program can have."""

    name: str
    words: str
    step: str
    avoids: bool = False  # it leaves something out: "without …" then asks for it
    number: str = ""  # the constant that people may set


@dataclass(frozen=True)
class ProgramSpec:
    """One kind of program. `approaches`: two paragraphs with a step on each line."""

    name: str
    title: str
    words: str
    approaches: str
    features: tuple[Feature, ...] = ()
    number: str = ""  # the constant that the user may set
    least: int = 1  # minimum of the number

    @property
    def goal(self) -> str:
        """The goal of its plans."""
        return f"Write {self.title} in Python."

    @cached_property
    def plans(self) -> tuple[tuple[str, ...], ...]:
        """The steps of its two approaches."""
        texts = self.approaches.strip().split("\n\n")
        return tuple(tuple(line.strip() for line in text.splitlines()) for text in texts)
