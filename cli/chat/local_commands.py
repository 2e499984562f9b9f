"""Commands of `parley chat` that send the session no message: what they show, and the files that they write."""

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.text import Text

from cli.chat import render, render_flow, render_journal
from cli.chat.edit import is_on_path, last_result
from cli.chat.panels import inset
from cli.chat.render_flow import list_of
from cli.chat.state import ChatView
from cli.text import short, visible
from parley.client import Parley, ParleyError
from parley.client.client import EXPORT_FORMATS, RemoteSession
from parley.protocol.pages import LibraryPage, MemoryPage, SessionRow
from parley.protocol.tools import ToolPage
from parley.protocol.words import ACTIONS, ASKS, TERMINAL

MAX_MATCHES = 5  # tools shown for a search
_UTF8_MARK = "\ufeff"  # without it Excel reads the file in the Windows code page of its country
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_QUOTED = re.compile(r"[\",;|'\s]")


async def run_local(view: ChatView, parley: Parley, name: str, argument: str) -> RenderableType:
    """What the command shows, or the error; anything that is no command lists the commands."""
    try:
        return await _run(view, parley, name, argument)
    except ParleyError as error:
        return Text(visible(str(error)), style="yellow")


async def _run(view: ChatView, parley: Parley, name: str, argument: str) -> RenderableType:  # noqa: C901, PLR0911, PLR0912  one case per command
    match name:
        case "plan":
            return render.render_plan(view.plan) if view.plan else Text(TERMINAL["no_plan"])
        case "code":
            return render.render_code(view.code) if view.code else Text(TERMINAL["no_code"])
        case "path":
            return _path(view)
        case "journal":
            return Group(*(render_journal.journal_lines(view) or [Text(TERMINAL["nothing_happened"])]))
        case "usage":
            return render.render_usage(view)
        case "tools":
            return _tools(await parley.tools(argument, limit=MAX_MATCHES if argument else 500))
        case "inbox":
            return _inbox((await parley.inbox()).sessions)
        case "memories":
            return _memories(await parley.memories(argument))
        case "forget":
            await parley.forget(argument)
            return Text(TERMINAL["forgotten"].format(memory=visible(argument)))
        case "library":
            return _library(await parley.library(argument))
        case "csv":
            result = last_result(view)
            return Text(_write_new_file(Path(argument), as_csv(result)) if result else TERMINAL["no_rows"])
        case "export":
            return await _export(parley.session(view.session_id), argument)
        case _:
            return render.render_commands()


def _path(view: ChatView) -> RenderableType:
    sections = view.sections
    if not sections or not sections.turn or not sections.path or not is_on_path(view):
        return Text(TERMINAL["no_path"])
    return render_flow.path_details(sections.turn, sections.path, view.actions)


# --- lists


def _tools(page: ToolPage) -> RenderableType:
    """Each tool with its description and parameters; a star marks required ones."""
    lines: list[RenderableType] = []
    for tool in page.tools:
        properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
        names = properties if isinstance(properties, dict) else {}
        required_names = required if isinstance(required, list) else []
        parameters = ", ".join(f"{visible(name)}*" if name in required_names else visible(name) for name in names)
        effect = (f" {tool.effect}", "yellow") if tool.effect != "read" else ""
        lines.append(Text.assemble((visible(tool.name), "cyan"), f"({parameters})", effect))
        lines.append(_detail(short(tool.description, 160)))
    lines += [Text(short(trouble, 200), style="yellow") for trouble in page.troubles]
    return Group(*lines, Text(f"{len(page.tools)} of {page.total} tools", style="dim"))


def _inbox(sessions: tuple[SessionRow, ...]) -> RenderableType:
    """The sessions that wait for the user, and how to open them."""
    if not sessions:
        return Text(TERMINAL["nothing_waits"])
    lines: list[RenderableType] = []
    for session in sessions:
        goes_on = session.unfinished and session.state not in ASKS  # its plan comes before any other request
        starts = session.state == "approved"
        word = ASKS["not_started" if starts else "unfinished"] if goes_on else session.word
        lines.append(Text.assemble((word, "yellow"), f" {short(session.title or session.request, 100)}"))
        lines.append(_detail(f"parley chat --session {visible(session.id)}"))
        if goes_on:
            label, option = (ACTIONS["start"], "") if starts else (ACTIONS["retry"], "--retry ")
            lines.append(_detail(f"{label}: parley plan execute {option}{visible(session.id)}"))
    return Group(*lines)


def _memories(page: MemoryPage) -> RenderableType:
    """The memories of earlier requests."""
    lines: list[RenderableType] = []
    for item in page.items:
        lines.append(Text.assemble((f"{item.at:%Y-%m-%d} ", "dim"), short(item.request, 100)))
        lines.append(_detail(short(item.outcome, 160)))
        if item.lesson:
            lines.append(_detail(f"lesson: {short(item.lesson, 160)}", "yellow"))
        if item.id:
            lines.append(_detail(f"/forget {visible(item.id)}"))
    return Group(*lines, Text(f"{len(page.items)} of {page.total} remembered requests", style="dim"))


def _library(page: LibraryPage) -> RenderableType:
    """The accepted answers; a star marks saved ones."""
    lines: list[RenderableType] = []
    for item in page.items:
        star = ("★ ", "yellow") if item.saved else ("  ", "")
        lines.append(Text.assemble((f"{item.at:%Y-%m-%d} ", "dim"), star, short(item.question or item.request, 100)))
        lines.append(_detail(short(item.sql or item.answer, 160)))
    return Group(*lines, Text(f"{len(page.items)} of {page.total} accepted answers", style="dim"))


def _detail(text: str, style: str = "dim") -> RenderableType:
    return inset(Text(text, style=style), 4)


# --- files


async def _export(session: RemoteSession, argument: str) -> RenderableType:
    """Write the session to this file."""
    file = Path(argument)
    form = next((form for form in EXPORT_FORMATS if file.suffix == f".{form}"), None)
    if form is None:
        return Text(TERMINAL["unwritten"].format(why=f"{file} does not end in .md, .json or .py."))
    try:
        return Text(_write_new_file(file, await session.export(form)))
    except ParleyError as error:
        return Text(TERMINAL["unwritten"].format(why=visible(str(error))))


def _write_new_file(file: Path, text: str) -> str:
    try:
        with file.expanduser().open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        return TERMINAL["exists"].format(file=file)
    except OSError as error:
        return TERMINAL["unwritten"].format(why=error)
    return TERMINAL["written"].format(file=file)


def as_csv(result: Mapping[str, JsonValue]) -> str:
    """A file (RFC 4180) that begins with a mark of UTF-8. Null is empty; lists and objects are JSON."""
    rows = [list_of(result.get("columns")), *map(list_of, list_of(result.get("rows")))]
    return _UTF8_MARK + "".join(",".join(map(_cell, row)) + "\r\n" for row in rows)


def _cell(value: JsonValue) -> str:
    """A cell, also quoted if it contains another country's separator."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str) and is_formula(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run this text: =, +, - or @ in any width, possibly after invisible characters.

    A leading tab or line break is enough, as OWASP lists it. A number as text is not a formula.
    """
    if text[:1] in ("\t", "\r", "\n"):
        return True
    bare = next((c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf")), "")
    return unicodedata.normalize("NFKC", bare) in ("=", "+", "-", "@") and not _NUMBER.fullmatch(text)
