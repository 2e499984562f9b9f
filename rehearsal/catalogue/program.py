"""What the rehearsal model knows about one kind of program."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """An extra that a program can have; `words` are what people call it (see `matching`)."""

    name: str
    words: tuple[str, ...]
    step: str
    avoids: bool = False  # it leaves something out: "without …" then asks for it
    number: str = ""  # the constant that people may set


@dataclass(frozen=True)
class Program:
    """One kind of program. `plans` are the steps of its two approaches; `number` the constant that people may set."""

    name: str
    title: str
    words: tuple[str, ...]
    plans: tuple[tuple[str, ...], tuple[str, ...]]
    features: tuple[Feature, ...] = ()
    number: str = ""
    least: int = 1  # what the number must be at least

    @property
    def goal(self) -> str:
        """The goal of its plans."""
        return f"Write {self.title} in Python."
