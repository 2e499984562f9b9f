"""Frames around what belongs together: drawn on a terminal, titles only in a pipe."""

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from cli.visible import visible


class Framed:
    """In a frame on a terminal; in a pipe, under its title."""

    def __init__(self, content: RenderableType, title: str, style: str) -> None:
        self._content, self._title, self._style = content, title, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.is_terminal:
            yield Panel(self._content, title=Text(self._title) or None, border_style=self._style, padding=(0, 1))
        else:
            yield Text(f"── {self._title} ──")
            yield self._content


class Program:
    """Python: in colours and wrapped on a terminal; in a pipe exactly as it is."""

    def __init__(self, text: str) -> None:
        self._text = visible(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.is_terminal:
            yield Syntax(self._text, "python", theme="ansi_dark", background_color="default", word_wrap=True)
        else:
            yield Text(self._text, no_wrap=True, overflow="ignore")


def python(text: str) -> RenderableType:
    return Program(text)
