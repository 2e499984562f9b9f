"""What a person can say about a path: another rest, another value for the next node. Pure."""

from typing import NamedTuple

from pydantic import JsonValue

from cli.chat.doing import Doing, Say, Send
from cli.chat.state import View
from parley.events import facts
from parley.events.values import Step
from parley.protocol import client as c
from parley.protocol.screen import ActionSection
from parley.protocol.words import TERMINAL


def walks(view: View) -> bool:
    """The turn at hand walks a path."""
    return view.stands is not None and view.stands.path_standing is not None


# --- the rest of the path


def reroute(view: View, argument: str) -> Doing:
    """`/path node, node`: these nodes instead of those that have not begun."""
    plan = view.plan if view.ask and view.ask.kind == "plan" else None
    reviewed = plan.path if plan else None
    path, standing = (view.stands.path, view.stands.path_standing) if view.stands else (None, None)
    if path is None or not (reviewed or standing):
        return Say(TERMINAL["no_path_now"])
    last = standing.tool if standing and not reviewed else ""
    flow = (last or (*path.walked, *path.remaining)[0]).partition(".")[0]
    wanted = [name if "." in name else f"{flow}.{name}" for name in argument.replace(",", " ").split()]
    if plan and reviewed:
        steps = tuple(Step(text=tool, tool=tool) for tool in wanted)
        return Send(c.Edit(type="edit", target="plan", version=plan.version, steps=steps))
    return _edit_path(view, wanted)


def _edit_path(view: View, nodes: list[str], given: dict[str, JsonValue] | None = None) -> Doing:
    standing = view.stands.path_standing if view.stands else None
    after = standing.after if standing else ""
    return Send(c.EditPath(type="edit_path", after=after, nodes=tuple(nodes), given=given or {}))


# --- the value that the next node gets


class Shown(NamedTuple):
    """One text that a node shows before it runs, as a person may change it."""

    name: str
    text: str


def shown(action: ActionSection) -> Shown | None:
    """The SQL of this action; of another node its only text."""
    texts = [Shown(name, value) for name, value in action.arguments.items() if isinstance(value, str)]
    return next((text for text in texts if text.name == "sql"), texts[0] if len(texts) == 1 else None)


def with_value(view: View, name: str, value: str) -> Doing:
    """The same rest of the path, with this value set before its next node."""
    left = list(view.stands.path.remaining) if walks(view) and view.stands and view.stands.path else []
    return _edit_path(view, left, {name: value}) if left else Say(TERMINAL["no_path_now"])


# --- what came of it


def last_result(view: View) -> dict[str, JsonValue] | None:
    """The newest table that the path has made."""
    names = {action.action_id for action in view.actions} if walks(view) else set()
    results = [
        outcome.result["result"]
        for event in view.events
        if isinstance(event, facts.ActionsFinished)
        for outcome in event.outcomes
        if outcome.action_id in names and isinstance(outcome.result, dict) and "result" in outcome.result
    ]
    tables = [result for result in results if isinstance(result, dict)]
    return tables[-1] if tables else None
