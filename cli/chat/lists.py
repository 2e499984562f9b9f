"""Lists that the gateway is asked for: tools, the inbox, memories (also deleting one), the library."""

from rich.console import Group, RenderableType
from rich.text import Text

from cli.chat.panels import inset
from cli.text import short, visible
from parley.client import Parley, ParleyError
from parley.protocol.pages import LibraryPage, MemoryPage, SessionRow
from parley.protocol.tools import ToolPage
from parley.protocol.words import ACTIONS, ASKS, TERMINAL

NAMES = ("tools", "inbox", "memories", "forget", "library")
MAX_MATCHES = 5  # tools shown for a search


async def render_list(name: str, words: str, parley: Parley) -> RenderableType:
    """The list of this name, or the error."""
    try:
        if name == "tools":
            return tools(await parley.tools(words, limit=MAX_MATCHES if words else 500))
        if name == "memories":
            return memories(await parley.memories(words))
        if name == "forget":
            await parley.forget(words)
            return Text(TERMINAL["forgotten"].format(memory=visible(words)))
        if name == "library":
            return library(await parley.library(words))
        return inbox((await parley.inbox()).sessions)
    except ParleyError as error:
        return Text(visible(str(error)), style="yellow")


def tools(page: ToolPage) -> RenderableType:
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


def inbox(sessions: tuple[SessionRow, ...]) -> RenderableType:
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


def memories(page: MemoryPage) -> RenderableType:
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


def library(page: LibraryPage) -> RenderableType:
    """The accepted answers; a star marks saved ones."""
    lines: list[RenderableType] = []
    for item in page.items:
        star = ("★ ", "yellow") if item.saved else ("  ", "")
        lines.append(Text.assemble((f"{item.at:%Y-%m-%d} ", "dim"), star, short(item.question or item.request, 100)))
        lines.append(_detail(short(item.sql or item.answer, 160)))
    return Group(*lines, Text(f"{len(page.items)} of {page.total} accepted answers", style="dim"))


def _detail(text: str, style: str = "dim") -> RenderableType:
    return inset(Text(text, style=style), 4)
