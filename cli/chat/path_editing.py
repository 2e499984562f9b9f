"""The user's changes of a path: other remaining nodes, or another value for the next node. Pure."""

from typing import NamedTuple

from pydantic import JsonValue

from cli.chat.effects import ChatEffect, SendMessage, ShowText
from cli.chat.state import ChatView
from parley.events import facts
from parley.events.values import Step
from parley.protocol import client as c
from parley.protocol.screen import ActionSection
from parley.protocol.words import TERMINAL


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
    names = {action.action_id for action in view.actions} if is_on_path(view) else set()
    results = [
        outcome.result["result"]
        for event in view.events
        if isinstance(event, facts.ActionsFinished)
        for outcome in event.outcomes
        if outcome.action_id in names and isinstance(outcome.result, dict) and "result" in outcome.result
    ]
    tables = [result for result in results if isinstance(result, dict)]
    return tables[-1] if tables else None
