"""One service that ends itself in the middle of an append: `python -m chaos.cut_service planner FILE`.

While FILE says `3 before`, the process ends right before its third append from then on reaches the log; `3 after`: as
soon as that is stored, before anybody is told. It runs the service's own program; the product knows nothing of this.
"""

import os
import runpy
import sys
from pathlib import Path
from typing import Literal, NamedTuple, Self

from shared.bus import JetStreamLog
from shared.events import Due, SessionEvent

When = Literal["before", "after"]
CODE = 70  # the exit code of a process that was cut


class Cut(NamedTuple):
    """Where a service ends: at which of its appends, and on which side of it."""

    append: int
    when: When

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """What is wanted there; None where nothing is."""
        try:
            number, when = file.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return cls(int(number), "before" if when == "before" else "after")

    def arm(self, file: Path) -> None:
        """Want it. Whoever reads the file never sees half of it."""
        whole = file.with_suffix(".new")
        whole.write_text(f"{self.append} {self.when}\n")
        whole.rename(file)


def cut_appends(file: Path) -> None:
    """From here on this process ends where the file says."""
    store = JetStreamLog.append
    stored = 0

    async def append(self: JetStreamLog, event: SessionEvent, *, after: int, due: Due) -> int:
        nonlocal stored
        cut = Cut.read(file)
        if cut == (stored + 1, "before"):
            _end(file)
        position = await store(self, event, after=after, due=due)
        stored = stored + 1 if cut else 0
        if cut == (stored, "after"):
            _end(file)
        return position

    JetStreamLog.append = append  # type: ignore[method-assign]


def _end(file: Path) -> None:
    """As a crash would; the next process of this service is not cut again."""
    file.unlink()
    os._exit(CODE)


if __name__ == "__main__":
    service, wanted = sys.argv[1:]
    cut_appends(Path(wanted))
    sys.argv = [f"services.{service}.app"]
    runpy.run_module(f"services.{service}.app", run_name="__main__", alter_sys=True)
