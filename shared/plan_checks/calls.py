"""What is wrong with one call of a plan, and a model's arguments put right. Pure."""

import ast
from collections.abc import Collection, Iterator, Mapping

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol.tools import ToolSpec
from shared.domain.references import references
from shared.plan_checks.kinds import PYTHON, misplaced
from shared.repair import repair

SHOWN = 20  # tools that are named


def call_problems(step: Step, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """What is wrong with the step's tool and arguments."""
    spec = tools.get(step.tool or "")
    return tool_problems(step, spec) or (argument_problems(step, spec) if spec else ())


def tool_problems(step: Step, spec: ToolSpec | None, allowed: Collection[str] = ()) -> tuple[str, ...]:
    """Why this tool cannot be used. `allowed`: the only tools that the plan may use; none: all."""
    name = (step.tool or "")[:80]
    if allowed and step.tool not in allowed:
        others = ", ".join(sorted(allowed)[:SHOWN])
        return (f"{name or 'no tool'} is not among the tools that this plan may use: {others}.",)
    if spec is None:
        return (f"there is no tool “{name}” here.",)
    return (f"{spec.name} must not be used here.",) if spec.policy == "deny" else ()


def argument_problems(step: Step, spec: ToolSpec) -> tuple[str, ...]:
    arguments = step.arguments or {}
    read = repair(_literal(arguments), _without(spec, arguments))
    return (
        *misplaced(arguments, spec.parameters),
        *(f"{spec.name}: {problem}" for problem in read.problems),
        *(f"{name} is no Python: {error}" for name, error in _not_python(arguments, spec)),
        *(f"{spec.name}: {fix}" for fix in read.repairs),
    )


def _not_python(arguments: Mapping[str, JsonValue], spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """Arguments that the tool runs as Python, and why they cannot be parsed."""
    properties = spec.parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        code = arguments.get(name)
        if isinstance(schema, dict) and schema.get("contentMediaType") == PYTHON and isinstance(code, str):
            try:
                ast.parse(code)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                yield name, str(error)


def repaired(arguments: JsonValue, spec: ToolSpec) -> dict[str, JsonValue]:
    """The arguments as a model wrote them, put right; those that refer to what a step gives stay as they are."""
    if not isinstance(arguments, dict):
        return repair(arguments, spec.parameters).arguments
    required = spec.parameters.get("required")
    needed = required if isinstance(required, list) else []
    named = {name: value for name, value in arguments.items() if value is not None or name in needed}
    bound = {name: value for name, value in named.items() if references(value)}
    return repair(_literal(named), _without(spec, named)).arguments | bound


def _literal(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in arguments.items() if not references(value)}


def _without(spec: ToolSpec, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The tool's schema without the arguments that are not known yet."""
    required = spec.parameters.get("required")
    if not isinstance(required, list):
        return spec.parameters
    bound = {name for name, value in arguments.items() if references(value)}
    return {**spec.parameters, "required": [name for name in required if name not in bound]}
