"""A server's list of tools as Parley's: named, bounded, with effect and policy. Pure.

The list is data from a stranger: descriptions are cut and freed of what nobody sees, and a schema that is none, or a
monster, keeps its tool out.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mcp.types import Tool
from pydantic_core import to_json

from services.executor.mcp.config import ServerConfig, ToolRule
from services.executor.mcp.results import clean
from shared.events.values import Effect
from shared.repair.schema import fault_of
from shared.tools import ToolSpec

DESCRIPTION = 2_000  # characters
SCHEMA = 20_000  # bytes of JSON
TOKEN = 100  # characters of a tool's name here
MOST = 500  # tools of one server


class Offer(NamedTuple):
    """The tools by the names they have here, what each is called at its server, and what was left out and why."""

    specs: Mapping[str, ToolSpec] = {}
    called: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()


def offer(server: ServerConfig, tools: Iterable[Tool]) -> Offer:
    specs: dict[str, ToolSpec] = {}
    called: dict[str, str] = {}
    left_out: list[str] = []
    for number, tool in enumerate(tools):
        shown = clean(tool.name)[:60]
        if number >= MOST:
            left_out.append(f"It offers more than {MOST} tools; the others are left out.")
            break
        if wrong := _wrong(tool):
            left_out.append(f"Its tool “{shown}” is left out: {wrong}.")
            continue
        name = _free(f"{server.name}.{_safe(tool.name)}", specs)
        specs[name] = _spec(server, name, tool)
        called[name] = tool.name
    missing = sorted(server.tools.keys() - set(called.values()))
    left_out += [f"The configuration names a tool “{name[:60]}” that it does not offer." for name in missing]
    return Offer(specs, called, tuple(left_out))


def _wrong(tool: Tool) -> str:
    if not tool.name.strip():
        return "it has no name"
    if fault := fault_of(tool.input_schema):
        return fault
    size = len(to_json(tool.input_schema))
    return f"its schema has {size} bytes, and {SCHEMA} are read" if size > SCHEMA else ""


def _spec(server: ServerConfig, name: str, tool: Tool) -> ToolSpec:
    rule = server.tools.get(tool.name, ToolRule())
    return ToolSpec(
        name=name,
        description=clean(tool.description or tool.title or "")[:DESCRIPTION],
        parameters=tool.input_schema,
        effect=rule.effect or _said(tool) or server.effect,
        policy=rule.policy or server.policy,
        origin=server.name,
    )


def _said(tool: Tool) -> Effect | None:
    """The effect that the server itself tells of; None where it says nothing."""
    hints = tool.annotations
    if hints is None:
        return None
    if hints.read_only_hint:
        return "read"
    if hints.destructive_hint:
        return "irreversible"
    return "write" if hints.destructive_hint is False or hints.read_only_hint is False else None


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def _free(name: str, taken: Mapping[str, ToolSpec]) -> str:
    """The name, or with a number where two names of the server are the same in our letters."""
    name = name[:TOKEN]
    numbered = (f"{name[: TOKEN - 4]}-{number}" for number in range(2, MOST + 2))
    return name if name not in taken else next(other for other in numbered if other not in taken)
