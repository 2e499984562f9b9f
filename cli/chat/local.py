"""What `parley chat` shows and saves by itself, out of what it has heard."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from cli.chat import render
from cli.chat.export import CannotExport, export, format_of
from cli.chat.state import View


def locally(view: View, name: str, argument: str) -> RenderableType:
    """`/plan`, `/code`, `/journal`, `/usage`, `/export`; anything else is the list of commands."""
    match name:
        case "plan":
            return render.plan(view.plan) if view.plan else Text("There is no plan yet.")
        case "code":
            return render.code(view.code) if view.code else Text("There is no code yet.")
        case "journal":
            lines = [Text.assemble((f"{event.version:>4} ", "dim"), render.line(event)) for event in view.events]
            return Group(*lines) if lines else Text("Nothing has happened yet.")
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
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return f"{file} exists already: choose another name."
    except (CannotExport, OSError) as error:
        return f"Nothing was written: {error}"
    return f"Written to {file}."
