"""Runs a service that crashes at a chosen append: `python -m chaos.crashing_service planner FILE`.

While FILE contains `3 before`, the process exits right before its third append from then on reaches the log; with
`3 after`, as soon as that append is stored, before the caller learns of it. Words after that restrict the count to
events that contain them. `FILE-writes` does the same for plan_store's transactions. The service's own program runs;
the product contains no code for this.
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

Side = Literal["before", "after"]
CRASH_EXIT_CODE = 70


class CrashPoint(NamedTuple):
    """Where a service crashes: before or after its n-th append of an event that contains these words."""

    append: int
    side: Side
    words: str = ""

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The crash point in this file; None if there is no valid one."""
        try:
            number, when, *words = file.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return cls(int(number), "before" if when == "before" else "after", " ".join(words))

    def arm(self, file: Path) -> None:
        """Write it to the file. The rename is atomic, so no reader sees half of it."""
        whole = file.with_suffix(".new")
        whole.write_text(f"{self.append} {self.side} {self.words}\n")
        whole.rename(file)

    def matches(self, text: str) -> bool:
        """Whether an append of this event counts."""
        return all(word in text for word in self.words.split())


class CrashInjector:
    """Counts the appends that match the file's crash point, and ends this process there."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._matched = 0

    @contextmanager
    def around_write(self, text: Callable[[], str]) -> Iterator[None]:
        """Wrap the block that stores `text`. `text` is called only while a crash point is armed."""
        point = CrashPoint.read(self._file)
        is_match = point is not None and point.matches(text())
        if point and is_match and point[:2] == (self._matched + 1, "before"):
            self._crash()
        yield
        self._matched = self._matched + is_match if point else 0
        if point and is_match and point[:2] == (self._matched, "after"):
            self._crash()

    def _crash(self) -> None:
        """Exit at once. The file is removed first, so that the restarted service does not crash again."""
        self._file.unlink(missing_ok=True)
        os._exit(CRASH_EXIT_CODE)


def crash_on_append(injector: CrashInjector) -> None:
    """Patch the log's append to crash at the injector's crash point."""
    store = JetStreamLog.append

    async def append(self: JetStreamLog, event: SessionEvent, *, after: int, due: Due) -> int:
        with injector.around_write(lambda: dump_event(event).decode()):
            return await store(self, event, after=after, due=due)

    JetStreamLog.append = append  # type: ignore[method-assign]


def crash_on_projection(injector: CrashInjector) -> None:
    """Patch plan_store's database writes in the same way."""
    from services.plan_store.projection.writer import SessionWrite, Writer  # noqa: PLC0415  no other service needs what it needs

    write = Writer._write

    async def _write(self: Writer, writes: Sequence[SessionWrite]) -> None:
        with injector.around_write(lambda: str([update.changes for update in writes])):
            await write(self, writes)

    Writer._write = _write  # type: ignore[method-assign]


if __name__ == "__main__":
    service, wanted = sys.argv[1:]
    crash_on_append(CrashInjector(Path(wanted)))
    if service == "plan_store":
        crash_on_projection(CrashInjector(Path(f"{wanted}-writes")))
    sys.argv = [f"services.{service}.app"]
    runpy.run_module(f"services.{service}.app", run_name="__main__", alter_sys=True)
