"""Lists that the gateway is asked for: tools, the inbox, memories (also to delete one), the library."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from cli.chat.text import short
from cli.visible import visible
from parley.client import Parley, ParleyError
from parley.protocol.pages import LibraryPage, MemoryPage, SessionRow
from parley.protocol.tools import ToolPage
from parley.protocol.words import ACTIONS, ASKS, TERMINAL

NAMES = ("tools", "inbox", "memories", "forget", "library")
BEST = 5  # tools that are shown for some words


async def listed(name: str, words: str, parley: Parley) -> RenderableType:
    """The list of this name, or why there is none."""
    try:
        if name == "tools":
            return tools(await parley.tools(words, limit=BEST if words else 500))
        if name == "memories":
            return memories(await parley.memories(words))
        if name == "forget":
            await parley.forget(words)
            return Text(TERMINAL["forgotten"].format(memory=visible(words)))
        if name == "library":
            return library(await parley.library(words))
        return inbox((await parley.inbox()).sessions)
    except ParleyError as why:
        return Text(visible(str(why)), style="yellow")


def tools(page: ToolPage) -> RenderableType:
    """What each does, with its parameters: a star marks those that it must have."""
    lines: list[RenderableType] = []
    for tool in page.tools:
        properties, required = tool.parameters.get("properties"), tool.parameters.get("required")
        names = properties if isinstance(properties, dict) else {}
        must = required if isinstance(required, list) else []
        told = ", ".join(f"{visible(name)}*" if name in must else visible(name) for name in names)
        effect = (f" {tool.effect}", "yellow") if tool.effect != "read" else ""
        lines.append(Text.assemble((visible(tool.name), "cyan"), f"({told})", effect))
        lines.append(_inset(short(tool.description, 160)))
    lines += [Text(short(trouble, 200), style="yellow") for trouble in page.troubles]
    return Group(*lines, Text(f"{len(page.tools)} of {page.total} tools", style="dim"))


def inbox(sessions: tuple[SessionRow, ...]) -> RenderableType:
    """The sessions that wait for a person, and how to go there."""
    if not sessions:
        return Text(TERMINAL["nothing_waits"])
    lines: list[RenderableType] = []
    for session in sessions:
        goes_on = session.unfinished and session.state not in ASKS  # nothing else is asked before it can
        starts = session.state == "approved"
        word = ASKS["not_started" if starts else "unfinished"] if goes_on else session.word
        lines.append(Text.assemble((word, "yellow"), f" {short(session.title or session.request, 100)}"))
        lines.append(_inset(f"parley chat --session {visible(session.id)}"))
        if goes_on:
            lines.append(
                _inset(f"{ACTIONS['start' if starts else 'retry']}: parley plan execute {visible(session.id)}")
            )
    return Group(*lines)


def memories(page: MemoryPage) -> RenderableType:
    """What the planner may be told of earlier requests."""
    lines: list[RenderableType] = []
    for item in page.items:
        lines.append(Text.assemble((f"{item.at:%Y-%m-%d} ", "dim"), short(item.request, 100)))
        lines.append(_inset(short(item.outcome, 160)))
        if item.lesson:
            lines.append(_inset(f"lesson: {short(item.lesson, 160)}", "yellow"))
        if item.id:
            lines.append(_inset(f"/forget {visible(item.id)}"))
    return Group(*lines, Text(f"{len(page.items)} of {page.total} remembered requests", style="dim"))


def library(page: LibraryPage) -> RenderableType:
    """The answers that were accepted; a star marks those that are kept."""
    lines: list[RenderableType] = []
    for item in page.items:
        star = ("★ ", "yellow") if item.saved else ("  ", "")
        lines.append(Text.assemble((f"{item.at:%Y-%m-%d} ", "dim"), star, short(item.question or item.request, 100)))
        lines.append(_inset(short(item.sql or item.answer, 160)))
    return Group(*lines, Text(f"{len(page.items)} of {page.total} accepted answers", style="dim"))


def _inset(text: str, style: str = "dim") -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, 4), expand=False)
