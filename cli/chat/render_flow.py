"""Renders a path through a flow: its nodes and their outputs, tables to choose from, and a query's rows."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from pydantic import JsonValue
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from cli.chat.forms import TableOption
from cli.chat.panels import inset
from cli.talk.journal_lines import TONES
from cli.text import short, visible
from parley.protocol.journal import ActionEntry, TurnEntry
from parley.protocol.screen import ActionSection, TurnSection
from parley.protocol.views import PathView, PlannedPathView, PlanView
from parley.protocol.words import ACTION_STATES, PATHS
from shared.domain.transcript.memory import text_of
from shared.domain.turn.flow_paths import PERSON_NODE, split_tool_name
from shared.journal.phrases import ACTION_TONES

MAX_ROWS, MAX_COLUMNS = 20, 12  # of a result that are shown
MAX_CELL, MAX_TEXT = 40, 200  # characters
_AHEAD = ("planned", "approved", "asked", "waiting")


def path_line(actions: Sequence[ActionSection]) -> Text:
    """The nodes in a line; the running, waiting or next one is marked."""
    current = next((a for a in actions if a.status in ("started", "asked", "planned", "approved")), None)
    return _joined([(action.tool, *_mark(action, action is current)) for action in actions])


def _mark(action: ActionSection, current: bool = False) -> tuple[str, str]:
    """The mark of the action's tone; none while it waits for its turn."""
    if current or action.status == "started":
        return "▶", "bold cyan"
    return ("", "") if action.status in _AHEAD else TONES[ACTION_TONES[action.status]]


def _joined(nodes: Sequence[tuple[str, str, str]]) -> Text:
    """`flow: ✓ first › ▶ second › third`, for each flow."""
    nodes_line = Text()
    for flow, group in groupby(nodes, key=lambda node: split_tool_name(node[0])[0]):
        nodes_line.append(f"{' › ' if nodes_line else ''}{visible(flow)}: ", "dim")
        for number, (tool, mark, style) in enumerate(group):
            name = split_tool_name(tool)[1]
            details = PATHS["values_by_you"] if name == PERSON_NODE else visible(name)
            nodes_line.append(" › " if number else "", "dim")
            nodes_line.append(f"{mark} {details}".strip(), style)
    return nodes_line


def planned_path(entry: TurnEntry, path: PlannedPathView) -> RenderableType:
    """The path that is about to run, and how it was planned."""
    head = Text.assemble(("▸ Path ", "bold cyan"), _joined([(tool, "", "") for tool in path.nodes]))
    notes = _planning_notes(path, entry.reasoning)
    return Group(head, *(inset(part) for part in notes))


def _planning_notes(path: PlannedPathView | PathView, reasoning: str) -> Iterable[Text]:
    if reasoning:
        yield Text(short(reasoning, MAX_TEXT), style="dim")
    if path.fallback:
        reason = short(path.why, MAX_TEXT)
        yield Text(PATHS["full_why"].format(why=reason) if path.attempts else reason, style="yellow")
    details = [PATHS["tries"].format(count=path.attempts)] if path.attempts > 1 else []
    details += [PATHS["cached"]] if path.cached else []
    details += (
        [PATHS["example" if path.examples == 1 else "examples"].format(count=path.examples)] if path.examples else []
    )
    if details:
        yield Text(" · ".join(details), style="dim")
    if node := path.proposal:
        missing = PATHS["missing_node"].format(flow=visible(node.flow))
        yield Text(f"{missing} {visible(node.name)}. {short(node.description, MAX_TEXT)}", style="yellow")


def planned_steps(plan: PlanView, path: PlannedPathView) -> Iterable[Text]:
    """What a path adds to the text of its plan: its line, and how it was planned."""
    yield _joined([(step.tool, "", "") for step in plan.steps if step.tool])
    yield from _planning_notes(path, "")


def path_details(turn: TurnSection, path: PathView, actions: Sequence[ActionSection]) -> RenderableType:
    """`/path`: the planned path and its execution so far, with seconds and tokens."""
    grid = Grid(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for title in ("", "node", "state", "seconds", "tokens"):
        grid.add_column(title, justify="right" if title in ("seconds", "tokens") else "left")
    for action in actions:
        mark, style = _mark(action)
        details = (f"{action.seconds:.1f}" if action.seconds else "", f"{action.tokens:,}" if action.tokens else "")
        state = ACTION_STATES.get(action.status, action.status)
        grid.add_row(Text(mark, style=style), visible(action.tool), state, *details)
    seconds, tokens = sum(a.seconds for a in actions), sum(a.tokens for a in actions)
    grid.add_row("", "together", "", f"{seconds:.1f}", f"{tokens:,}", style="dim")
    planned_line = _joined([(tool, "", "") for tool in path.planned_execution_path])
    head = Text.assemble(("planned ", "bold"), planned_line)
    executed = Text.assemble(("walked  ", "bold"), path_line(actions))
    return Group(head, *_planning_notes(path, turn.reasoning), executed, Text(""), grid)


# --- outputs of a node


def node_outcome(action: ActionEntry, tokens: int) -> RenderableType:
    """A node's outcome and outputs; a query's rows as a table."""
    mark, style = TONES[action.tone]
    details = f" · {action.seconds:.1f} s" + (f" · {tokens:,} tokens" if tokens else "")
    head = Text.assemble((f"{mark} ", style), visible(split_tool_name(action.tool)[1]), (details, "dim"))
    outputs = action.result if isinstance(action.result, dict) else {}
    parts: list[RenderableType] = [Text(short(action.error, MAX_TEXT), style="red")] if action.error else []
    if isinstance(sql := outputs.get("sql"), str) and sql:
        parts.append(Text(visible(sql), style="cyan"))
    words = {name: value for name, value in outputs.items() if name not in ("sql", "result", "answer") and value}
    if words:
        parts.append(
            Text("; ".join(f"{visible(name)}: {_short_value(value)}" for name, value in words.items()), style="dim")
        )
    if isinstance(result := outputs.get("result"), dict):
        parts.append(result_table(result))
    return Group(head, *(inset(part, 4) for part in parts))


def _short_value(value: JsonValue) -> str:
    """A value shortened to one line; a list of tables as their names."""
    if isinstance(value, list) and value and all(isinstance(item, dict) and "name" in item for item in value):
        value = [item["name"] for item in value if isinstance(item, dict)]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return short(", ".join(map(str, value)), MAX_TEXT)
    return short(text_of(value), MAX_TEXT)


def result_table(result: Mapping[str, JsonValue]) -> RenderableType:
    """A table of the first rows and columns, and how many more there are."""
    names, lines = list_of(result.get("columns")), list_of(result.get("rows"))
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    cells = [list_of(row)[:MAX_COLUMNS] for row in lines[:MAX_ROWS]]
    for number, name in enumerate(names[:MAX_COLUMNS]):
        numbers = all(isinstance(row[number], int | float) for row in cells if len(row) > number)
        grid.add_column(
            Text(short(str(name), MAX_CELL)), justify="right" if cells and numbers else "left", no_wrap=True
        )
    for row in cells:
        grid.add_row(*(Text("∅" if cell is None else short(text_of(cell), MAX_CELL)) for cell in row))
    details = [f"{len(lines)} row{'' if len(lines) == 1 else 's'}" + (" and more" if result.get("truncated") else "")]
    details += [f"{len(lines) - MAX_ROWS} of them not shown"] if len(lines) > MAX_ROWS else []
    details += [f"{len(names) - MAX_COLUMNS} columns not shown"] if len(names) > MAX_COLUMNS else []
    return Group(grid, Text(" · ".join([*details, "/csv FILE saves them"]), style="dim"))


def list_of(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


# --- questions


def table_choices(offered: Sequence[TableOption]) -> RenderableType:
    """The tables to choose from, with reasons and columns; a star marks the proposed ones."""
    lines: list[RenderableType] = []
    for number, table in enumerate(offered, 1):
        mark = ("★ ", "yellow") if table.chosen else ("  ", "")
        reason = f"  {short(table.reason, MAX_TEXT)}" if table.reason else ""
        lines.append(Text.assemble((f"{number:>2} ", "bold cyan"), mark, (visible(table.name), "bold"), reason))
        if table.columns:
            lines.append(inset(Text(short(", ".join(table.columns), MAX_TEXT), style="dim"), 5))
    return Group(*lines)
