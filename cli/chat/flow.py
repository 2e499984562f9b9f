"""How a path through a flow looks: its nodes, what they made, the tables to choose from, a query's rows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from pydantic import JsonValue
from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from cli.chat.forms import Table
from cli.chat.frames import Framed
from cli.chat.text import short
from cli.visible import visible
from parley.events.values import Outcome
from parley.protocol.journal import TurnEntry
from parley.protocol.screen import ActionSection, TurnSection
from parley.protocol.views import PathView, PlannedPathView, PlanView
from parley.protocol.words import ACTION_STATES, JOURNAL, PATHS
from shared.domain.paths import PERSON, split

ROWS, COLUMNS, CELL, WORDS = 20, 12, 40, 200  # that are shown of a result; characters of a cell, of words
_MARKS: Mapping[str, tuple[str, str]] = {
    "finished": ("✓", "green"),
    "failed": ("✗", "red"),
    "uncertain": ("?", "red"),
    "skipped": ("–", "dim"),
    "denied": ("–", "red"),
    "started": ("▶", "bold cyan"),
}


def line(actions: Sequence[ActionSection]) -> Text:
    """The nodes in a line; the one that runs, waits or comes next is marked."""
    current = next((a for a in actions if a.status in ("started", "asked", "planned", "approved")), None)
    return _joined([(action.tool, *_mark(action, action is current)) for action in actions])


def _mark(action: ActionSection, current: bool) -> tuple[str, str]:
    return ("▶", "bold cyan") if current else _MARKS.get(action.status, ("", ""))


def _joined(nodes: Sequence[tuple[str, str, str]]) -> Text:
    """`flow: ✓ one › ▶ two › three`, flow after flow."""
    nodes_line = Text()
    for flow, group in groupby(nodes, key=lambda node: split(node[0])[0]):
        nodes_line.append(f"{' › ' if nodes_line else ''}{visible(flow)}: ", "dim")
        for number, (tool, mark, style) in enumerate(group):
            name = split(tool)[1]
            told = PATHS["values_by_you"] if name == PERSON else visible(name)
            nodes_line.append(" › " if number else "", "dim")
            nodes_line.append(f"{mark} {told}".strip(), style)
    return nodes_line


def planned(entry: TurnEntry, path: PlannedPathView) -> RenderableType:
    """The path that is about to be walked, and how it was found."""
    head = Text.assemble(("▸ Path ", "bold cyan"), _joined([(tool, "", "") for tool in path.nodes]))
    found = _found(path, entry.reasoning)
    return Group(head, *(Padding(part, (0, 0, 0, 2), expand=False) for part in found))


def _found(path: PlannedPathView | PathView, reasoning: str) -> Iterable[Text]:
    if reasoning:
        yield Text(short(reasoning, WORDS), style="dim")
    if path.fallback:
        why = short(path.why, WORDS)
        yield Text(PATHS["full_why"].format(why=why) if path.attempts else why, style="yellow")
    told = [PATHS["tries"].format(count=path.attempts)] if path.attempts > 1 else []
    told += [PATHS["cached"]] if path.cached else []
    told += (
        [PATHS["example" if path.examples == 1 else "examples"].format(count=path.examples)] if path.examples else []
    )
    if told:
        yield Text(" · ".join(told), style="dim")
    if node := path.proposal:
        missing = PATHS["missing_node"].format(flow=visible(node.flow))
        yield Text(f"{missing} {visible(node.name)}. {short(node.description, WORDS)}", style="yellow")


def review(plan: PlanView, path: PlannedPathView) -> RenderableType:
    """A path that waits for a yes."""
    steps = [
        Text.assemble(
            (f"{n:>2} ", "bold"), (visible(split(step.tool or "")[1]), "cyan"), f"  {short(step.text, WORDS)}"
        )
        for n, step in enumerate(plan.steps, 1)
    ]
    parts = [_joined([(step.tool, "", "") for step in plan.steps if step.tool]), *steps, *_found(path, plan.notes)]
    return Framed(Group(*parts), JOURNAL["path"].format(number=plan.number), "cyan")


def whole(turn: TurnSection, path: PathView, actions: Sequence[ActionSection]) -> RenderableType:
    """`/path`: as it was planned and as it is walked, with seconds and tokens."""
    grid = Grid(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for title in ("", "node", "state", "seconds", "tokens"):
        grid.add_column(title, justify="right" if title in ("seconds", "tokens") else "left")
    for action in actions:
        mark, style = _MARKS.get(action.status, ("", ""))
        told = (f"{action.seconds:.1f}" if action.seconds else "", f"{action.tokens:,}" if action.tokens else "")
        state = ACTION_STATES.get(action.status, action.status)
        grid.add_row(Text(mark, style=style), visible(action.tool), state, *told)
    seconds, tokens = sum(a.seconds for a in actions), sum(a.tokens for a in actions)
    grid.add_row("", "together", "", f"{seconds:.1f}", f"{tokens:,}", style="dim")
    planned_line = _joined([(tool, "", "") for tool in path.planned_execution_path])
    head = Text.assemble(("planned ", "bold"), planned_line)
    walked = Text.assemble(("walked  ", "bold"), line(actions))
    return Group(head, *_found(path, turn.reasoning), walked, Text(""), grid)


# --- what a node made


def outcome(tool: str, tokens: int, event: Outcome) -> RenderableType:
    """One line a node, with what it made; a query's rows as a table."""
    mark, style = ("✓", "green") if event.ok else ("✗", "red")
    told = f" · {event.seconds:.1f} s" + (f" · {tokens:,} tokens" if tokens else "")
    head = Text.assemble((f"{mark} ", style), visible(split(tool)[1]), (told, "dim"))
    made = event.result if isinstance(event.result, dict) else {}
    parts: list[RenderableType] = [Text(short(event.error, WORDS), style="red")] if event.error else []
    if isinstance(sql := made.get("sql"), str) and sql:
        parts.append(Text(visible(sql), style="cyan"))
    words = {name: value for name, value in made.items() if name not in ("sql", "result", "answer") and value}
    if words:
        parts.append(Text("; ".join(f"{visible(name)}: {_told(value)}" for name, value in words.items()), style="dim"))
    if isinstance(result := made.get("result"), dict):
        parts.append(rows(result))
    return Group(head, *(Padding(part, (0, 0, 0, 4), expand=False) for part in parts))


def _told(value: JsonValue) -> str:
    """A value in a few words: of a list of tables, their names."""
    if isinstance(value, list) and value and all(isinstance(one, dict) and "name" in one for one in value):
        value = [one["name"] for one in value if isinstance(one, dict)]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return short(", ".join(map(str, value)), WORDS)
    return short(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), WORDS)


def rows(result: Mapping[str, JsonValue]) -> RenderableType:
    """The first rows and columns, and how many more there are."""
    names, lines = _list(result.get("columns")), _list(result.get("rows"))
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    cells = [_list(row)[:COLUMNS] for row in lines[:ROWS]]
    for number, name in enumerate(names[:COLUMNS]):
        numbers = all(isinstance(row[number], int | float) for row in cells if len(row) > number)
        grid.add_column(Text(short(str(name), CELL)), justify="right" if cells and numbers else "left", no_wrap=True)
    for row in cells:
        grid.add_row(*(Text("∅" if cell is None else short(_cell(cell), CELL)) for cell in row))
    told = [f"{len(lines)} row{'' if len(lines) == 1 else 's'}" + (" and more" if result.get("truncated") else "")]
    told += [f"{len(lines) - ROWS} of them not shown"] if len(lines) > ROWS else []
    told += [f"{len(names) - COLUMNS} columns not shown"] if len(names) > COLUMNS else []
    return Group(grid, Text(" · ".join([*told, "/csv FILE saves them"]), style="dim"))


def _cell(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


# --- what is asked


def choose(offered: Sequence[Table]) -> RenderableType:
    """The tables to choose from, with reasons and columns; a star marks those that are proposed."""
    lines: list[RenderableType] = []
    for number, table in enumerate(offered, 1):
        mark = ("★ ", "yellow") if table.chosen else ("  ", "")
        reason = f"  {short(table.reason, WORDS)}" if table.reason else ""
        lines.append(Text.assemble((f"{number:>2} ", "bold cyan"), mark, (visible(table.name), "bold"), reason))
        if table.columns:
            lines.append(Padding(Text(short(", ".join(table.columns), WORDS), style="dim"), (0, 0, 0, 5), expand=False))
    return Group(*lines)
