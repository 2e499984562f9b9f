"""What `parley chat` shows and saves by itself, out of what it has heard."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from cli.chat import flow, render, spreadsheet
from cli.chat.export import CannotExport, export, format_of
from cli.chat.paths import last_result, walk
from cli.chat.state import View
from parley.protocol.words import TERMINAL


def locally(view: View, name: str, argument: str) -> RenderableType:  # noqa: PLR0911  one line a command
    """`/plan`, `/code`, `/path`, `/csv`, `/journal`, `/usage`, `/export`; anything else is the list of commands."""
    match name:
        case "plan":
            return render.plan(view.plan) if view.plan else Text(TERMINAL["no_plan"])
        case "path":
            turn = walk(view.session)
            return flow.whole(turn) if turn else Text(TERMINAL["no_path"])
        case "csv":
            return Text(_csv(view, argument))
        case "code":
            return render.code(view.code) if view.code else Text(TERMINAL["no_code"])
        case "journal":
            lines = [Text.assemble((f"{event.version:>4} ", "dim"), render.line(event)) for event in view.events]
            return Group(*lines) if lines else Text(TERMINAL["nothing_happened"])
        case "usage":
            return render.usage(view)
        case "export":
            return Text(_export(view, argument))
        case _:
            return render.manual()


def _export(view: View, argument: str) -> str:
    file = Path(argument).expanduser()
    try:
        form = format_of(file)
        code = view.code
        text = f"{code.code.rstrip()}\n" if form == "py" and code else export(view.events, form)
    except CannotExport as error:
        return TERMINAL["unwritten"].format(why=error)
    return _written(file, text)


def _csv(view: View, argument: str) -> str:
    result = last_result(view.session)
    if result is None:
        return TERMINAL["no_rows"]
    return _written(Path(argument).expanduser(), spreadsheet.as_csv(result))


def _written(file: Path, text: str) -> str:
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return TERMINAL["exists"].format(file=file)
    except OSError as error:
        return TERMINAL["unwritten"].format(why=error)
    return TERMINAL["written"].format(file=file)
