"""What `parley chat` shows and saves by itself, out of what it has heard."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from cli.chat import flow, journal, render, spreadsheet
from cli.chat.paths import last_result, walks
from cli.chat.state import View
from cli.export import CannotExport, format_of
from cli.visible import visible
from parley.client import ParleyError
from parley.client.client import Session
from parley.protocol.words import TERMINAL


def locally(view: View, name: str, argument: str) -> RenderableType:  # noqa: PLR0911  one line a command
    """`/plan`, `/code`, `/path`, `/csv`, `/journal`, `/usage`; anything else is the list of commands."""
    match name:
        case "plan":
            return render.plan(view.plan) if view.plan else Text(TERMINAL["no_plan"])
        case "path":
            return _path(view)
        case "csv":
            return Text(_csv(view, argument))
        case "code":
            return render.code(view.code) if view.code else Text(TERMINAL["no_code"])
        case "journal":
            return Group(*(journal.lines(view) or [Text(TERMINAL["nothing_happened"])]))
        case "usage":
            return render.usage(view)
        case _:
            return render.manual()


async def export(session: Session, argument: str) -> RenderableType:
    """`/export`: the session as Parley writes it, into this file."""
    file = Path(argument)
    try:
        return Text(_written(file, await session.export(format_of(file))))
    except (CannotExport, ParleyError) as error:
        return Text(TERMINAL["unwritten"].format(why=visible(str(error))))


def _path(view: View) -> RenderableType:
    stands = view.stands
    if not stands or not stands.turn or not stands.path or not walks(view):
        return Text(TERMINAL["no_path"])
    return flow.whole(stands.turn, stands.path, view.actions)


def _csv(view: View, argument: str) -> str:
    result = last_result(view)
    if result is None:
        return TERMINAL["no_rows"]
    return _written(Path(argument), spreadsheet.as_csv(result))


def _written(file: Path, text: str) -> str:
    try:
        with file.expanduser().open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        return TERMINAL["exists"].format(file=file)
    except OSError as error:
        return TERMINAL["unwritten"].format(why=error)
    return TERMINAL["written"].format(file=file)
