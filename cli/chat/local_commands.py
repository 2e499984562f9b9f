"""Commands of `parley chat` that need no message to the gateway, and rows as CSV for one of them."""

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
from cli.chat.render_flow import list_of
from cli.chat.state import ChatView
from cli.text import visible
from parley.client import ParleyError
from parley.client.client import EXPORT_FORMATS, RemoteSession
from parley.protocol.words import TERMINAL

_UTF8_MARK = "\ufeff"  # without it Excel reads the file in the Windows code page of its country
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_QUOTED = re.compile(r"[\",;|'\s]")


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
    form = next((form for form in EXPORT_FORMATS if file.suffix == f".{form}"), None)
    if form is None:
        return Text(TERMINAL["unwritten"].format(why=f"{file} does not end in .md, .json or .py."))
    try:
        return Text(_write_new_file(file, await session.export(form)))
    except ParleyError as error:
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
    return _write_new_file(Path(argument), as_csv(result))


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
