"""Converts a server's list of tools to Parley's specs: named, bounded, with effect and policy. Pure.

The list is untrusted. Descriptions are cut and cleaned of invisible characters, and a tool with an invalid or oversized
schema is left out. A tool is pinned when it is first listed, because users trust the tool that they were shown: a
later change of its description or schema is ignored, and its effect can only become stricter.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from mcp.shared.inbound import find_invalid_x_mcp_header
from pydantic import JsonValue
from pydantic_core import to_json

from parley.events.values import Effect
from parley.protocol.tools import ToolSpec
from services.executor.mcp.config import McpServerConfig, ToolOverride
from services.executor.mcp.json_text import camel_or_snake
from services.executor.mcp.results import quoted
from shared.plan_checks.argument_kinds import without_weaker_kinds
from shared.repair.schema import MAX_DEPTH, MAX_NODES, as_schema, is_bounded, schema_problem, without_blanks

MAX_DESCRIPTION = 2_000  # characters
MAX_SCHEMA = 20_000  # bytes of JSON
MAX_NAME = 100  # characters of a tool's name in Parley
MAX_TOOLS = 500  # tools of one server
MAX_TOOLS_EVER = 2 * MAX_TOOLS  # different tools of one server over time
MAX_TOTAL = 300_000  # bytes of JSON of all tools of one server
MAX_TROUBLES = 20  # lines about one server
CHANGE_IGNORED = "it is used as it was when its server was first connected: start Parley again to take the change."
_STRICTNESS: tuple[Effect, ...] = ("read", "write", "irreversible")


class PinnedTool(NamedTuple):
    """A tool as its server first described it. `is_late`: it was not in the server's first list."""

    spec: ToolSpec
    is_late: bool


class ListedTool(NamedTuple):
    """A tool as its server lists it, with the parts that can be read."""

    name: str
    description: str
    input_schema: JsonValue
    output_schema: JsonValue
    hints: Mapping[str, JsonValue]


class ServerOffer(NamedTuple):
    """The tools by their names in Parley, their names at the server, and what was left out and why.

    `pinned` has every tool that was ever offered, by its name at the server; None before the first list.
    """

    specs: Mapping[str, ToolSpec] = {}
    server_names: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()
    pinned: Mapping[str, PinnedTool] | None = None


def build_offer(
    server: McpServerConfig, tools: Iterable[JsonValue], pinned: Mapping[str, PinnedTool] | None = None
) -> ServerOffer:
    """The offer for this list as the server sent it, with the tools that are already pinned."""
    all_pinned = dict(pinned or {})
    specs: dict[str, ToolSpec] = {}
    server_names: dict[str, str] = {}
    troubles: list[str] = []
    size = 0
    for number, raw in enumerate(tools):
        if number >= MAX_TOOLS:
            troubles.append(f"It offers more than {MAX_TOOLS} tools; the others are left out.")
            break
        tool = _listed(raw)
        label = quoted(tool.name, 60) if tool.name.strip() else f"number {number + 1}"
        known = all_pinned.get(tool.name)
        fault = _fault(raw, tool)
        if tool.name in server_names.values():
            fault = "it is listed more than once, and the first one counts"
        elif not known and len(all_pinned) >= MAX_TOOLS_EVER:
            fault = fault or f"it has offered more than {MAX_TOOLS_EVER:,} others"
        if fault:
            troubles.append(f"Its tool “{label}” is left out: {fault}.")
            continue
        if tool.output_schema and (ignored := _schema_fault(tool.output_schema)):
            troubles.append(f"The schema of the results of its tool “{label}” is ignored: {ignored}.")
            tool = tool._replace(output_schema=None)
        name = known.spec.name if known else _unique_name(server, tool, all_pinned.values())
        current = _spec(server, name, tool)
        if known and (changed := _changed(known.spec, current)):
            troubles.append(f"Its tool “{label}” has another {changed} now; {CHANGE_IGNORED}")
        known = all_pinned.setdefault(tool.name, known or PinnedTool(current, pinned is not None))
        spec = _pinned_spec(known, current, server.tools.get(tool.name, ToolOverride()).effect or server.effect)
        size += len(spec.model_dump_json())
        if size > MAX_TOTAL:
            troubles.append(f"Its tools have more than {MAX_TOTAL:,} bytes; “{label}” and those after it are left out.")
            break
        specs[spec.name] = spec
        server_names[spec.name] = tool.name
    missing = sorted(server.tools.keys() - set(server_names.values()))
    troubles += [f"The configuration names a tool “{name[:60]}” that it does not offer." for name in missing]
    return ServerOffer(specs, server_names, _capped(troubles), all_pinned)


def _pinned_spec(known: PinnedTool, current: ToolSpec, late_effect: Effect) -> ToolSpec:
    """The pinned tool with the strictest effect that the server has declared for it.

    A late tool cannot declare itself a read: `late_effect` is its minimum.
    """
    effects = [known.spec.effect, current.effect, *([late_effect] if known.is_late else [])]
    return known.spec.model_copy(update={"effect": max(effects, key=_STRICTNESS.index)})


def _changed(known: ToolSpec, now: ToolSpec) -> str:
    """Which fields of the tool differ from the pinned spec, as words; "" if none do."""
    fields = {"description": "description", "parameters": "schema", "effect": "effect"}
    return " and ".join(word for field, word in fields.items() if getattr(known, field) != getattr(now, field))


def _capped(troubles: Sequence[str]) -> tuple[str, ...]:
    more = len(troubles) - MAX_TROUBLES
    return (*troubles[:MAX_TROUBLES], f"{more} more like these.") if more > 0 else tuple(troubles)


def _listed(raw: JsonValue) -> ListedTool:
    """The parts of a listed tool; each that has another type than the protocol says counts as missing."""
    tool = raw if isinstance(raw, dict) else {}
    name, hints = tool.get("name"), tool.get("annotations")
    descriptions = (text for field in ("description", "title") if isinstance(text := tool.get(field), str) and text)
    return ListedTool(
        name if isinstance(name, str) else "",
        next(descriptions, ""),
        input_schema(tool),
        _object_schema(camel_or_snake(tool, "outputSchema") or None),
        hints if isinstance(hints, dict) else {},
    )


def input_schema(tool: Mapping[str, JsonValue]) -> JsonValue:
    """The schema of a listed tool's arguments. Many servers leave it out, or its type, where there are none."""
    return _object_schema(camel_or_snake(tool, "inputSchema") or {})


def _object_schema(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict) or not is_bounded(schema, nodes=MAX_NODES, depth=MAX_DEPTH):
        return schema
    return {"type": "object", **as_schema(without_blanks(schema))}


def _fault(raw: JsonValue, tool: ListedTool) -> str:
    """Why the tool cannot be used, as the end of a sentence; "" if it can."""
    if not isinstance(raw, dict):
        return "it is not an object"
    if not tool.name.strip():
        return "it has no name"
    if fault := _schema_fault(tool.input_schema):
        return fault
    invalid = find_invalid_x_mcp_header(tool.input_schema)
    return f"its x-mcp-header is invalid ({quoted(invalid, 200)})" if invalid else ""


def _schema_fault(schema: JsonValue) -> str:
    if fault := schema_problem(schema):
        return fault
    size = len(to_json(schema))
    return f"its schema has {size} bytes, and {MAX_SCHEMA} are read" if size > MAX_SCHEMA else ""


def _spec(server: McpServerConfig, name: str, tool: ListedTool) -> ToolSpec:
    rule = server.tools.get(tool.name, ToolOverride())
    return ToolSpec(
        name=name,
        description=quoted(tool.description, MAX_DESCRIPTION),
        parameters=cast("dict[str, JsonValue]", without_weaker_kinds(tool.input_schema)),
        returns=tool.output_schema if isinstance(tool.output_schema, dict) else None,
        effect=rule.effect or _declared_effect(tool.hints) or server.effect,
        policy=rule.policy or server.policy,
        origin=server.name,
    )


def _declared_effect(hints: Mapping[str, JsonValue]) -> Effect | None:
    """The effect that the server declares; None if it declares none."""
    reads, destroys = camel_or_snake(hints, "readOnlyHint"), camel_or_snake(hints, "destructiveHint")
    if reads is True:
        return "read"
    if destroys is True:
        return "irreversible"
    return "write" if destroys is False or reads is False else None


def _unique_name(server: McpServerConfig, tool: ListedTool, pinned: Iterable[PinnedTool]) -> str:
    """A unique name in Parley, with a number if two names of the server become equal."""
    taken = {each.spec.name for each in pinned}
    name = f"{server.name}.{re.sub(r'[^A-Za-z0-9_.-]', '_', tool.name)}"[:MAX_NAME]
    candidates = (f"{name[: MAX_NAME - 5]}-{number}" for number in range(2, MAX_TOOLS_EVER + 2))
    return name if name not in taken else next(other for other in candidates if other not in taken)
