"""No terminal: lines from a pipe, plain text out."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Sequence

from rich.console import Console, RenderableType

from cli.chat.state import View


class Script:
    """Lines given beforehand, then, with `more`, those of stdin; shows plain text on stdout."""

    def __init__(self, first: Sequence[str], *, more: bool) -> None:
        self._console = Console(highlight=False, file=sys.stdout)
        self._lines: asyncio.Queue[str] = asyncio.Queue()  # "" is the end, again and again
        for line in first:
            self._lines.put_nowait(line)
        if more:
            # A thread that nobody waits for: a read from a pipe cannot be cancelled.
            threading.Thread(target=self._pump, args=(asyncio.get_running_loop(),), daemon=True).start()
        else:
            self._lines.put_nowait("")

    def show(self, what: RenderableType) -> None:
        self._console.print(what, markup=False, crop=False)
        sys.stdout.flush()

    def update(self, view: View) -> None:
        """A pipe shows nothing that is not finished."""

    async def line(self) -> str | None:
        """The next line that is not empty; None at the end."""
        while line := await self._lines.get():
            if line.strip():
                return line.strip()
        self._lines.put_nowait("")
        return None

    async def edit(self, text: str, suffix: str) -> str | None:
        """There is nobody who could edit."""
        return None

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: we left already
            for line in sys.stdin:
                loop.call_soon_threadsafe(self._lines.put_nowait, line)
            loop.call_soon_threadsafe(self._lines.put_nowait, "")
