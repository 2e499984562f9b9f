"""What a person can say about a path: another rest, another value for the next node. Pure."""

from typing import NamedTuple

from pydantic import JsonValue

from cli.chat.choices import Doing, Say, Send
from cli.chat.state import View
from parley.events.values import Step
from parley.protocol import client as c
from parley.protocol import server as s
from parley.protocol.words import TERMINAL
from shared.domain.paths import OPEN, begun, made, split
from shared.domain.session import Session
from shared.domain.state import Turn
from shared.domain.workflows.flow import path_of


def walk(session: Session) -> Turn | None:
    """The turn that walks a path."""
    return session.turn if path_of(session.turn) else None


# --- the rest of the path


def reroute(view: View, argument: str) -> Doing:
    """`/path node, node`: these nodes instead of those that have not begun."""
    turn, plan = walk(view.session), view.session.plan
    in_review = view.ask is not None and view.ask.kind == "plan" and path_of(plan) is not None
    tools = [step.tool for step in plan.steps if step.tool] if in_review and plan else _tools(turn)
    if not tools:
        return Say(TERMINAL["no_path_now"])
    flow = _flow(turn) or split(tools[0])[0]
    wanted = [name if "." in name else f"{flow}.{name}" for name in argument.replace(",", " ").split()]
    if in_review and plan:
        steps = tuple(Step(text=tool, tool=tool) for tool in wanted)
        return Send(c.Edit(type="edit", target="plan", version=plan.version, steps=steps))
    return _edit_path(turn, wanted)


def _edit_path(turn: Turn | None, nodes: list[str], given: dict[str, JsonValue] | None = None) -> Doing:
    walked = begun(turn) if turn else ()
    after = walked[-1].spec.id if walked else ""
    return Send(c.EditPath(type="edit_path", after=after, nodes=tuple(nodes), given=given or {}))


def _tools(turn: Turn | None) -> list[str]:
    return [action.spec.tool for action in turn.actions] if turn else []


def _flow(turn: Turn | None) -> str:
    """The flow that is being walked: of the last node that began, else of the first one."""
    tools = [action.spec.tool for action in (begun(turn) or turn.actions)[-1:]] if turn else []
    return split(tools[-1])[0] if tools else ""


# --- the value that the next node gets


class Shown(NamedTuple):
    """One text that a node shows before it runs, as a person may change it."""

    name: str
    text: str


def shown(action: s.ActionView) -> Shown | None:
    """The SQL of this action; of another node its only text."""
    texts = [Shown(name, value) for name, value in action.arguments.items() if isinstance(value, str)]
    return next((text for text in texts if text.name == "sql"), texts[0] if len(texts) == 1 else None)


def with_value(view: View, name: str, value: str) -> Doing:
    """The same rest of the path, with this value set before its next node."""
    turn = walk(view.session)
    left = [action.spec.tool for action in turn.actions if action.status in OPEN] if turn else []
    return _edit_path(turn, left, {name: value}) if left else Say(TERMINAL["no_path_now"])


# --- what came of it


def last_result(session: Session) -> dict[str, JsonValue] | None:
    """The newest table that the path has made."""
    found = [state["result"] for state in made(session.turn).values() if isinstance(state.get("result"), dict)]
    return found[-1] if found and isinstance(found[-1], dict) else None
