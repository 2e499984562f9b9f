"""The front end without a terminal: reads lines from a pipe, writes plain text."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Sequence
from datetime import datetime

from rich.console import Console, RenderableType
from rich.text import Text

from cli.chat.state import ChatView
from parley.protocol.words import STATUS


class PipeFrontend:
    """Reads `lines`, then with `read_stdin` those of stdin. Writes plain text to stdout."""

    def __init__(self, lines: Sequence[str], *, read_stdin: bool) -> None:
        self._console = Console(highlight=False, file=sys.stdout)
        self._waits_until: datetime | None = None
        self._lines: asyncio.Queue[str] = asyncio.Queue()  # "" marks the end
        for line in lines:
            self._lines.put_nowait(line)
        if read_stdin:
            # A daemon thread, because a blocking read from a pipe cannot be cancelled.
            threading.Thread(target=self._pump, args=(asyncio.get_running_loop(),), daemon=True).start()
        else:
            self._lines.put_nowait("")

    def show(self, content: RenderableType) -> None:
        self._console.print(content, markup=False, crop=False)
        sys.stdout.flush()

    def update(self, view: ChatView) -> None:
        """Show a wait that the model's server asks for, once; of drafts a pipe shows only the finished ones."""
        waits_until = view.draft.waits_until if view.draft else None
        if view.draft and waits_until not in (None, self._waits_until):
            self.show(Text(STATUS["model_waits"].format(seconds=view.draft.remaining_wait)))
        self._waits_until = waits_until

    async def line(self) -> str | None:
        """The next non-empty line; None at the end."""
        while line := await self._lines.get():
            if line.strip():
                return line.strip()
        self._lines.put_nowait("")
        return None

    async def edit(self, text: str, suffix: str) -> str | None:
        """None: there is no user who could edit."""
        return None

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the chat has ended
            for line in sys.stdin:
                loop.call_soon_threadsafe(self._lines.put_nowait, line)
            loop.call_soon_threadsafe(self._lines.put_nowait, "")
