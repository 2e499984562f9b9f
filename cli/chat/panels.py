"""Titled panels and program text: drawn with frames on a terminal, plain in a pipe."""

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from cli.text import visible


class TitledPanel:
    """Content in a frame on a terminal, or below its title in a pipe."""

    def __init__(self, content: RenderableType, title: str, style: str) -> None:
        self._content, self._title, self._style = content, title, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.is_terminal:
            yield Panel(self._content, title=Text(self._title) or None, border_style=self._style, padding=(0, 1))
        else:
            yield Text(f"── {self._title} ──")
            yield self._content


class PythonSource:
    """Python code: highlighted and wrapped on a terminal, unchanged in a pipe."""

    def __init__(self, text: str) -> None:
        self._text = visible(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if console.is_terminal:
            yield Syntax(self._text, "python", theme="ansi_dark", background_color="default", word_wrap=True)
        else:
            yield Text(self._text, no_wrap=True, overflow="ignore")


def inset(part: RenderableType, columns: int = 2) -> RenderableType:
    """The part, indented."""
    return Padding(part, (0, 0, 0, columns), expand=False)
