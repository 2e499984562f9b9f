"""Editing a plan, a program or a path, in the user's editor, or in the terminal if there is none."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from cli.chat.effects import ChatEffect, SendMessage, ShowText
from cli.chat.state import ChatView
from cli.text import one_line
from parley.events.values import Step
from parley.protocol import client as c
from parley.protocol.journal import ActionEntry
from parley.protocol.screen import ActionSection
from parley.protocol.views import CodeView, PlanView
from parley.protocol.words import TERMINAL

Editor = Callable[[str, str], Awaitable[str | None]]
"""Takes a text and a file suffix; returns the changed text, or None if the user left it unchanged."""

_STEP = re.compile(r"^\s{0,3}(?:\d{1,3}[.)]|[-*])\s+(.*)$")
HELP = """\
# Change the plan above, then save and close. One numbered line is one step; a line
# that is indented continues the step before it. Lines that begin with # are ignored.
"""


class NoEditor(Exception):
    """No editor program can be started."""


def run_editor(text: str, suffix: str) -> str | None:
    """Open $VISUAL, $EDITOR or the system's editor. Blocks until it exits. Raises NoEditor."""
    import click  # noqa: PLC0415  slow to import, and needed only here

    try:
        return click.edit(text, extension=suffix, require_save=True)
    except click.ClickException as error:
        raise NoEditor(error.message) from error


async def edit_in_review(view: ChatView, editor: Editor) -> ChatEffect:
    """Let the user edit what is in review, or what was approved last. Returns the new version as a message."""
    if view.request and view.request.kind == "actions" and view.request.actions:
        return await _edit_value(view, view.request.actions[0], editor)
    if view.code and (not view.request or view.request.kind != "plan"):
        return await _edit_code(view.code, editor)
    if view.plan:
        return await _edit_plan(view.plan, editor)
    return ShowText(TERMINAL["nothing_editable"])


async def _edit_code(code: CodeView, editor: Editor) -> ChatEffect:
    text = await editor(code.code, ".py")
    if text is None or text.rstrip() == code.code.rstrip():
        return ShowText(TERMINAL["nothing_changed"])
    if not text.strip():
        return ShowText(TERMINAL["program_empty"])
    return SendMessage(c.Edit(type="edit", target="code", version=code.version, content=text))


async def _edit_value(view: ChatView, action: ActionSection, editor: Editor) -> ChatEffect:
    """Edit the value that a node shows before it runs; the gateway then shows the changed one."""
    value = editable_value(action)
    if value is None or not is_on_path(view):
        return ShowText(TERMINAL["only_path_values"])
    text = await editor(f"{value.text.rstrip()}\n", ".sql" if value.name == "sql" else ".txt")
    if text is None or text.strip() in ("", value.text.strip()):
        return ShowText(TERMINAL["nothing_changed"])
    return with_value(view, value.name, text.strip())


async def _edit_plan(plan: PlanView, editor: Editor) -> ChatEffect:
    text = await editor(f"{editable(plan.goal, plan.steps, plan.notes)}\n{HELP}", ".md")
    if text is None:
        return ShowText(TERMINAL["nothing_changed"])
    try:
        goal, steps, notes = read_plan(text, plan.steps)
    except InvalidPlanText as error:
        return ShowText(f"{error} {TERMINAL['nothing_changed']}")
    if (goal, steps, notes) == (plan.goal, plan.steps, plan.notes):
        return ShowText(TERMINAL["nothing_changed"])
    return SendMessage(c.Edit(type="edit", target="plan", version=plan.version, goal=goal, steps=steps, notes=notes))


def is_on_path(view: ChatView) -> bool:
    """Whether the current turn follows a path."""
    return view.sections is not None and view.sections.path_standing is not None


# --- the rest of the path


def reroute(view: ChatView, argument: str) -> ChatEffect:
    """`/path node, node`: replace the nodes that have not begun."""
    plan = view.plan if view.request and view.request.kind == "plan" else None
    reviewed = plan.path if plan else None
    path, current = (view.sections.path, view.sections.path_standing) if view.sections else (None, None)
    if path is None or not (reviewed or current):
        return ShowText(TERMINAL["no_path_now"])
    last = current.tool if current and not reviewed else ""
    flow = (last or (*path.walked, *path.remaining)[0]).partition(".")[0]
    nodes = [name if "." in name else f"{flow}.{name}" for name in argument.replace(",", " ").split()]
    if plan and reviewed:
        steps = tuple(Step(text=tool, tool=tool) for tool in nodes)
        return SendMessage(c.Edit(type="edit", target="plan", version=plan.version, steps=steps))
    return _edit_path(view, nodes)


def _edit_path(view: ChatView, nodes: list[str], values: dict[str, JsonValue] | None = None) -> ChatEffect:
    current = view.sections.path_standing if view.sections else None
    after = current.after if current else ""
    return SendMessage(c.EditPath(type="edit_path", after=after, nodes=tuple(nodes), given=values or {}))


# --- the value that the next node gets


class EditableValue(NamedTuple):
    """A text that a node shows before it runs, and that the user can change."""

    name: str
    text: str


def editable_value(action: ActionSection) -> EditableValue | None:
    """The action's SQL, or else its only text argument."""
    texts = [EditableValue(name, value) for name, value in action.arguments.items() if isinstance(value, str)]
    return next((text for text in texts if text.name == "sql"), texts[0] if len(texts) == 1 else None)


def with_value(view: ChatView, name: str, value: str) -> ChatEffect:
    """Keep the remaining path, and set this value for its next node."""
    left = list(view.sections.path.remaining) if is_on_path(view) and view.sections and view.sections.path else []
    return _edit_path(view, left, {name: value}) if left else ShowText(TERMINAL["no_path_now"])


# --- results


def last_result(view: ChatView) -> dict[str, JsonValue] | None:
    """The newest result table of the path."""
    entries = [view.screen.entry(f"action:{action.action_id}") for action in view.actions] if is_on_path(view) else []
    outputs = [entry.result for entry in entries if isinstance(entry, ActionEntry) and isinstance(entry.result, dict)]
    tables = [table for output in outputs if isinstance(table := output.get("result"), dict)]
    return tables[-1] if tables else None


class EditedPlan(NamedTuple):
    """A plan as the user has edited it."""

    goal: str
    steps: tuple[Step | str, ...]
    notes: str


class InvalidPlanText(ValueError):
    """The text is not a plan; the message says what is missing."""


def editable(goal: str, steps: Sequence[Step], notes: str) -> str:
    """A plan as numbered text that `read_plan` parses."""
    lines = [f"Goal: {one_line(goal)}", ""]
    for number, step in enumerate(steps, 1):
        first, *rest = step.text.splitlines() or [""]
        lines += [f"{number}. {first}", *(f"    {line}" for line in rest)]
    return "\n".join([*lines, "", "Notes:", *notes.splitlines(), ""])


def read_plan(text: str, known: Sequence[Step] = ()) -> EditedPlan:
    """Parse the edited text of `editable(...)`. A step with unchanged text keeps its tool and arguments.

    Raises InvalidPlanText if there is no goal or no step.
    """
    goal, steps, notes, at_notes = "", list[str](), list[str](), False
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if at_notes:
            notes.append(line)
        elif line.startswith("Notes:"):
            at_notes, notes = True, [line.removeprefix("Notes:").strip()]
        elif line.startswith("Goal:"):
            goal = line.removeprefix("Goal:").strip()
        elif match := _STEP.match(line):
            steps.append(match[1].rstrip())
        elif steps and line.strip():
            steps[-1] += f"\n{line.strip()}"
    steps = [step for step in steps if step.strip()]
    if not goal:
        raise InvalidPlanText("The plan has no line that begins with “Goal:”.")
    if not steps:
        raise InvalidPlanText("The plan has no step: write each as a line like “1. Read the file”.")
    before = {_words(step.text): step for step in known}
    return EditedPlan(goal, tuple(before.get(_words(step)) or step for step in steps), "\n".join(notes).strip())


def _words(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())
