"""One service that ends itself in the middle of an append: `python -m chaos.cut_service planner FILE`.

While FILE says `3 before`, the process ends right before its third append from then on reaches the log; `3 after`: as
soon as that is stored, before anybody is told. Words that follow must be in an event for its append to be counted.
`FILE-writes` says the same of plan_store's transactions. It runs the service's own program; the product knows nothing
of this.
"""

import os
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, Self

from parley.events import Due, SessionEvent, dump_event
from shared.bus import JetStreamLog

When = Literal["before", "after"]
CODE = 70  # the exit code of a process that was cut


class Cut(NamedTuple):
    """Where a service ends: at which of its appends of events with these words in them, and on which side of it."""

    append: int
    when: When
    words: str = ""

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """What is wanted there; None where nothing is."""
        try:
            number, when, *words = file.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return cls(int(number), "before" if when == "before" else "after", " ".join(words))

    def arm(self, file: Path) -> None:
        """Want it. Whoever reads the file never sees half of it."""
        whole = file.with_suffix(".new")
        whole.write_text(f"{self.append} {self.when} {self.words}\n")
        whole.rename(file)

    def means(self, what: str) -> bool:
        """Whether an append of this counts."""
        return all(word in what for word in self.words.split())


class Knife:
    """Counts what the file means, and ends this process there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stored = 0

    @contextmanager
    def around(self, what: Callable[[], str]) -> Iterator[None]:
        """Inside the block this is stored; it is asked for only where somebody wants a cut."""
        cut = Cut.read(self._file)
        meant = cut is not None and cut.means(what())
        if cut and meant and cut[:2] == (self._stored + 1, "before"):
            self._end()
        yield
        self._stored = self._stored + meant if cut else 0
        if cut and meant and cut[:2] == (self._stored, "after"):
            self._end()

    def _end(self) -> None:
        """As a crash would; the next process of this service is not cut again."""
        self._file.unlink(missing_ok=True)
        os._exit(CODE)


def cut_appends(knife: Knife) -> None:
    """From here on this process ends where the knife is."""
    store = JetStreamLog.append

    async def append(self: JetStreamLog, event: SessionEvent, *, after: int, due: Due) -> int:
        with knife.around(lambda: dump_event(event).decode()):
            return await store(self, event, after=after, due=due)

    JetStreamLog.append = append  # type: ignore[method-assign]


def cut_writes(knife: Knife) -> None:
    """The same where plan_store writes what it has folded."""
    from services.plan_store.writing import Move, Writer  # noqa: PLC0415  no other service needs what it needs

    write = Writer._write

    async def _write(self: Writer, moves: Sequence[Move]) -> None:
        with knife.around(lambda: str([move.changes for move in moves])):
            await write(self, moves)

    Writer._write = _write  # type: ignore[method-assign]


if __name__ == "__main__":
    service, wanted = sys.argv[1:]
    cut_appends(Knife(Path(wanted)))
    if service == "plan_store":
        cut_writes(Knife(Path(f"{wanted}-writes")))
    sys.argv = [f"services.{service}.app"]
    runpy.run_module(f"services.{service}.app", run_name="__main__", alter_sys=True)
