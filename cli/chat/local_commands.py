"""Commands of `parley chat` that need no message to the gateway."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from cli.chat import csv_export, render, render_flow, render_journal
from cli.chat.edit import is_on_path, last_result
from cli.chat.state import ChatView
from cli.export import CannotExport, format_of
from cli.text import visible
from parley.client import ParleyError
from parley.client.client import RemoteSession
from parley.protocol.words import TERMINAL


def run_local(view: ChatView, name: str, argument: str) -> RenderableType:  # noqa: PLR0911  one case per command
    """Run `/plan`, `/code`, `/path`, `/csv`, `/journal` or `/usage`; anything else lists the commands."""
    match name:
        case "plan":
            return render.render_plan(view.plan) if view.plan else Text(TERMINAL["no_plan"])
        case "path":
            return _path(view)
        case "csv":
            return Text(_csv(view, argument))
        case "code":
            return render.render_code(view.code) if view.code else Text(TERMINAL["no_code"])
        case "journal":
            return Group(*(render_journal.journal_lines(view) or [Text(TERMINAL["nothing_happened"])]))
        case "usage":
            return render.render_usage(view)
        case _:
            return render.render_commands()


async def export_to_file(session: RemoteSession, argument: str) -> RenderableType:
    """`/export`: write the session to this file."""
    file = Path(argument)
    try:
        return Text(_write_new_file(file, await session.export(format_of(file))))
    except (CannotExport, ParleyError) as error:
        return Text(TERMINAL["unwritten"].format(why=visible(str(error))))


def _path(view: ChatView) -> RenderableType:
    sections = view.sections
    if not sections or not sections.turn or not sections.path or not is_on_path(view):
        return Text(TERMINAL["no_path"])
    return render_flow.path_details(sections.turn, sections.path, view.actions)


def _csv(view: ChatView, argument: str) -> str:
    result = last_result(view)
    if result is None:
        return TERMINAL["no_rows"]
    return _write_new_file(Path(argument), csv_export.as_csv(result))


def _write_new_file(file: Path, text: str) -> str:
    try:
        with file.expanduser().open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        return TERMINAL["exists"].format(file=file)
    except OSError as error:
        return TERMINAL["unwritten"].format(why=error)
    return TERMINAL["written"].format(file=file)
