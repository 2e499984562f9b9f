"""A server's list of tools as Parley's: named, bounded, with effect and policy. Pure.

The list is data from a stranger: descriptions are cut and freed of what nobody sees, and a schema that is none, or a
monster, keeps its tool out. What a tool is, is settled when it is first listed: people trust the tool that they were
shown. A server that later says something else of it changes nothing but its effect, and that only to a stricter one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

from mcp.types import Tool
from pydantic import JsonValue
from pydantic_core import to_json

from parley.events.values import Effect
from parley.protocol.tools import ToolSpec
from services.executor.mcp.config import ServerConfig, ToolRule
from services.executor.mcp.results import clean
from services.executor.mcp.transport import OUTPUT_SCHEMA
from shared.plan_checks.kinds import without_weaker
from shared.repair.schema import fault_of

DESCRIPTION = 2_000  # characters
SCHEMA = 20_000  # bytes of JSON
TOKEN = 100  # characters of a tool's name here
MOST = 500  # tools of one server
EVER = 2 * MOST  # different tools that one server may have listed
TOTAL = 300_000  # bytes of JSON of all tools of one server
TROUBLES = 20  # lines about one server
HELD = "it is used as it was when its server was first connected: start Parley again to take the change."
_STRICTNESS: tuple[Effect, ...] = ("read", "write", "irreversible")


class Settled(NamedTuple):
    """A tool as its server first described it; `late`: only after the server's first list."""

    spec: ToolSpec
    late: bool


class Offer(NamedTuple):
    """The tools by the names they have here, what each is called at its server, and what was left out and why.

    `settled` has every tool that was ever offered, by its name at the server; None before the first list.
    """

    specs: Mapping[str, ToolSpec] = {}
    called: Mapping[str, str] = {}
    left_out: tuple[str, ...] = ()
    settled: Mapping[str, Settled] | None = None


def offer(server: ServerConfig, tools: Iterable[Tool], settled: Mapping[str, Settled] | None = None) -> Offer:
    """What of this list counts, beside the tools that are settled already."""
    first = dict(settled or {})
    specs: dict[str, ToolSpec] = {}
    called: dict[str, str] = {}
    troubles: list[str] = []
    size = 0
    for number, tool in enumerate(tools):
        if number >= MOST:
            troubles.append(f"It offers more than {MOST} tools; the others are left out.")
            break
        shown = clean(tool.name)[:60]
        known = first.get(tool.name)
        fault = _wrong(tool) or (
            f"it has offered more than {EVER:,} others" if not known and len(first) >= EVER else ""
        )
        if fault:
            troubles.append(f"Its tool “{shown}” is left out: {fault}.")
            continue
        name = known.spec.name if known else _name(server, tool, first.values())
        said = _spec(server, name, tool)
        if known and (changed := _changed(known.spec, said)):
            troubles.append(f"Its tool “{shown}” has another {changed} now; {HELD}")
        known = first.setdefault(tool.name, known or Settled(said, settled is not None))
        spec = _held(known, said, server.tools.get(tool.name, ToolRule()).effect or server.effect)
        size += len(spec.model_dump_json())
        if size > TOTAL:
            troubles.append(f"Its tools have more than {TOTAL:,} bytes; “{shown}” and those after it are left out.")
            break
        specs[spec.name] = spec
        called[spec.name] = tool.name
    missing = sorted(server.tools.keys() - set(called.values()))
    troubles += [f"The configuration names a tool “{name[:60]}” that it does not offer." for name in missing]
    return Offer(specs, called, _listed(troubles), first)


def _held(known: Settled, said: ToolSpec, late: Effect) -> ToolSpec:
    """The tool as it was settled, with the strictest of the effects that were told of it.

    One that came late is no read on its own word alone: `late` is the least that it counts as.
    """
    effects = [known.spec.effect, said.effect, *([late] if known.late else [])]
    return known.spec.model_copy(update={"effect": max(effects, key=_STRICTNESS.index)})


def _changed(known: ToolSpec, now: ToolSpec) -> str:
    """What the server says otherwise of the tool than at first, as words; "" where it is the same."""
    fields = {"description": "description", "parameters": "schema", "effect": "effect"}
    return " and ".join(word for field, word in fields.items() if getattr(known, field) != getattr(now, field))


def _listed(troubles: Sequence[str]) -> tuple[str, ...]:
    more = len(troubles) - TROUBLES
    return (*troubles[:TROUBLES], f"{more} more like these.") if more > 0 else tuple(troubles)


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
        parameters=cast("dict[str, JsonValue]", without_weaker(tool.input_schema)),
        returns=_returns(tool),
        effect=rule.effect or _said(tool) or server.effect,
        policy=rule.policy or server.policy,
        origin=server.name,
    )


def _returns(tool: Tool) -> dict[str, JsonValue] | None:
    """The schema of its results, for plans that refer to them; None where it is none, or a monster."""
    schema = (tool.meta or {}).get(OUTPUT_SCHEMA)
    usable = isinstance(schema, dict) and not fault_of(schema) and len(to_json(schema)) <= SCHEMA
    return schema if usable else None


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


def _name(server: ServerConfig, tool: Tool, settled: Iterable[Settled]) -> str:
    """A name here that no other has: with a number where two of the server are the same in our letters."""
    taken = {each.spec.name for each in settled}
    name = f"{server.name}.{re.sub(r'[^A-Za-z0-9_.-]', '_', tool.name)}"[:TOKEN]
    numbered = (f"{name[: TOKEN - 5]}-{number}" for number in range(2, EVER + 2))
    return name if name not in taken else next(other for other in numbered if other not in taken)
