"""The terminal: an input line that is always there, drafts and choices above it, the conversation above those."""

import time
from collections.abc import Callable

from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.application import get_app, run_in_terminal
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.console import Console, RenderableType

from cli.chat import render
from cli.chat.edit import HELP, NoEditor, run_editor
from cli.chat.state import ChatView
from parley.protocol.words import TERMINAL

_REFRESH = 0.15


class TerminalFrontend:
    """Shows output and reads lines. `on_interrupt` handles Ctrl-C; if it returns True, the chat ends."""

    def __init__(self, url: str, *, on_interrupt: Callable[[], bool] = lambda: True) -> None:
        self.on_interrupt = on_interrupt
        self._url = url
        self._held: list[RenderableType] | None = None  # output postponed while an editor has the terminal
        self._view = ChatView()
        self._since = time.monotonic()
        self._drawn: tuple[object, ANSI] = (None, ANSI(""))
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            history=InMemoryHistory(),
            key_bindings=self._keys(),
            refresh_interval=_REFRESH,
            erase_when_done=True,
        )

    def show(self, content: RenderableType) -> None:
        """Print above the input line."""
        if self._held is not None:
            self._held.append(content)
            return
        print_formatted_text(ANSI(self._ansi(content).rstrip("\n")), output=self._session.app.output)

    def update(self, view: ChatView) -> None:
        """Update the region above the input line."""
        if view.worker != self._view.worker or view.is_working != self._view.is_working:
            self._since = time.monotonic()
        self._view = view
        if self._session.app.is_running:
            self._session.app.invalidate()

    async def line(self) -> str | None:
        """The next line; None if the user leaves."""
        try:
            return await self._session.prompt_async()
        except (EOFError, KeyboardInterrupt):
            return None

    async def edit(self, text: str, suffix: str) -> str | None:
        """As `cli.chat.edit.Editor`."""
        self._held = []
        try:
            return await run_in_terminal(lambda: run_editor(text, suffix), in_executor=True)
        except NoEditor:
            return await self._edit_here(text)
        finally:
            postponed, self._held = self._held, None
            for content in postponed:
                self.show(content)

    async def _edit_here(self, text: str) -> str | None:
        prompt: PromptSession[str] = PromptSession(f"{TERMINAL['no_editor']}\n", multiline=True)
        try:
            return await prompt.prompt_async(default=text.removesuffix(HELP).rstrip())
        except (EOFError, KeyboardInterrupt):
            return None

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def _interrupt(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.reset()
            elif self.on_interrupt():
                event.app.exit(exception=KeyboardInterrupt)

        @keys.add("escape", "enter")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        return keys

    def _message(self) -> ANSI:
        elapsed = time.monotonic() - self._since
        key = (self._view, int(elapsed / _REFRESH) if self._view.is_working else 0, self._size())
        if key != self._drawn[0]:
            columns, rows = self._size()
            console = self._console(columns)
            region = render.render_live(self._view, elapsed=elapsed, url=self._url, rows=rows, console=console)
            rendered = self._ansi(region)
            self._drawn = (key, ANSI(f"{rendered}› " if rendered.strip() else "› "))
        return self._drawn[1]

    def _size(self) -> tuple[int, int]:
        size = get_app().output.get_size()
        return size.columns, size.rows

    def _console(self, columns: int) -> Console:
        return Console(
            force_terminal=True, width=columns, color_system="standard", highlight=False, legacy_windows=False
        )

    def _ansi(self, content: RenderableType) -> str:
        size = self._session.app.output.get_size()
        console = self._console(size.columns)
        with console.capture() as captured:
            console.print(content, markup=False)
        return captured.get()
