"""Which service reacts to which event, read from the code.

Consumers come from the topology, handlers from each app.py, commands from the handlers' source, and events from what
those commands produce in the domain.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from shared.bus import topology
from shared.domain import commands
from shared.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
SERVICES = ROOT / "services"
HARNESS = ROOT / "shared" / "worker"
COMMANDS = {name for name in vars(commands) if isinstance(vars(commands)[name], type)} - {"Command", "By", "Work"}


class Reaction(NamedTuple):
    """One durable consumer: its service, its messages, its handler and the events that the handler can append."""

    service: str
    consumer: str
    stream: str
    filter: str
    handler: str
    events: tuple[str, ...]


def reactions(makers: Mapping[str, set[str]]) -> list[Reaction]:
    """All durable consumers. `makers`: by event type, the commands that produce it.

    Raises LookupError for a consumer without a handler, or a handler without a consumer.
    """
    handlers = dict(_handlers())
    consumers = []
    for stream, config in topology.consumers(Settings.model_construct(ack_wait=1)):
        name = config["name"]
        if name not in handlers:
            raise LookupError(f"the consumer {name} is provisioned, and no app.py consumes it")
        service, handler, sources = handlers.pop(name)
        events = tuple(kind for kind, by in sorted(makers.items()) if by & _commands_in(sources))
        consumers.append(Reaction(service, name, stream, config["filter_subject"], handler, events))
    if handlers:
        raise LookupError(f"{', '.join(handlers)} are consumed, and not provisioned")
    return consumers


def harness_events(makers: Mapping[str, set[str]]) -> list[str]:
    """The events that the worker harness itself can append, in every worker."""
    used = _commands_in((HARNESS / "worker.py", HARNESS / "context.py"))
    return [kind for kind, by in sorted(makers.items()) if by & used]


def _handlers() -> Iterator[tuple[str, tuple[str, str, tuple[Path, ...]]]]:
    """Durable name -> service, handler as Markdown, and the sources that contain its commands."""
    for app in sorted(SERVICES.glob("*/app.py")):
        service = app.parent.name
        for node in ast.walk(ast.parse(app.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AsyncFunctionDef) and (name := _durable(node)):
                module = "scheduler.py" if name in ("dead_letters", "timers") else "handlers.py"
                source = app.parent / module
                yield name, (service, f"`{node.name}`", (source if source.exists() else app,))


def _durable(function: ast.AsyncFunctionDef) -> str:
    """The durable name if this function is a durable subscriber; else ""."""
    for decorator in function.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            match keyword:
                case ast.keyword(arg="durable", value=ast.Constant(value=str(name))):
                    return name
    return ""


def _calls(source: Path) -> Iterator[ast.Call]:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id="partial"), args=[inner, *_]):
            return _name(inner)
        case _:
            return ast.unparse(node)


def _commands_in(sources: tuple[Path, ...]) -> set[str]:
    return {_name(call.func) for source in sources for call in _calls(source)} & COMMANDS
