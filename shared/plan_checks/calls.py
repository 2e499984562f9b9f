"""What is wrong with one call of a plan, and a model's arguments put right. Pure."""

import ast
from collections.abc import Collection, Iterator, Mapping

from pydantic import JsonValue

from parley.events.values import Step
from parley.polling import AT_MOST, EVERY, condition_problem, looks_problem
from parley.protocol.tools import ToolSpec
from shared.domain.references import references
from shared.plan_checks.kinds import PYTHON, misplaced
from shared.repair import repair

SHOWN = 20  # tools that are named


def call_problems(step: Step, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """What is wrong with the step's tool and arguments."""
    spec = tools.get(step.tool or "")
    return tool_problems(step, spec) or (argument_problems(step, spec, tools) if spec else ())


def tool_problems(step: Step, spec: ToolSpec | None, allowed: Collection[str] = ()) -> tuple[str, ...]:
    """Why this tool cannot be used. `allowed`: the only tools that the plan may use; none: all."""
    name = (step.tool or "")[:80]
    if allowed and step.tool not in allowed:
        others = ", ".join(sorted(allowed)[:SHOWN])
        return (f"{name or 'no tool'} is not among the tools that this plan may use: {others}.",)
    if spec is None:
        return (f"there is no tool “{name}” here.",)
    return (f"{spec.name} must not be used here.",) if spec.policy == "deny" else ()


def argument_problems(
    step: Step, spec: ToolSpec, tools: Mapping[str, ToolSpec], allowed: Collection[str] = ()
) -> tuple[str, ...]:
    """What is wrong with the arguments of a call of this tool. A step that polls calls another of the `tools`."""
    arguments = step.arguments or {}
    polls = spec.waits_for == "condition"  # whatever the step says of itself
    read = repair(_literal(arguments), _without(spec, arguments))
    return (
        *misplaced(arguments, spec.parameters),
        *(f"{spec.name}: {problem}" for problem in read.problems),
        *(f"{name} is no Python: {error}" for name, error in _not_python(arguments, spec)),
        *(f"{spec.name}: {fix}" for fix in read.repairs),
        *(_polling_problems(step.model_copy(update={"waits_for": "condition"}), tools, allowed) if polls else ()),
    )


def polled_call(step: Step) -> Step | None:
    """The call that the step makes at each look; None for a step that does not poll."""
    arguments = step.arguments or {}
    name, called_with = arguments.get("tool"), arguments.get("arguments")
    if step.waits_for != "condition" or not isinstance(name, str):
        return None
    given = called_with if isinstance(called_with, dict) else {}
    return step.model_copy(update={"tool": name, "arguments": given, "waits_for": None})


def _polling_problems(step: Step, tools: Mapping[str, ToolSpec], allowed: Collection[str]) -> Iterator[str]:
    """What is wrong with the call that the step makes at each look, and with its condition."""
    arguments = step.arguments or {}
    call, condition = polled_call(step), arguments.get("condition")
    if isinstance(arguments.get("arguments"), str):
        yield "arguments must be written out: a reference may stand in each of them, not for all."
    elif call:
        spec = tools.get(call.tool or "")
        if spec and (spec.effect != "read" or spec.waits_for):
            yield f"{spec.name} does more than read: it cannot be polled."
        else:
            yield from tool_problems(call, spec, allowed) or (argument_problems(call, spec, tools) if spec else ())
    if isinstance(condition, str):
        if references(condition):
            yield "condition is evaluated as it is written: no reference may stand in it."
        elif wrong := condition_problem(condition):
            yield f"{wrong}."
    every, at_most = arguments.get("every", EVERY), arguments.get("at_most", AT_MOST)
    if isinstance(every, int) and isinstance(at_most, int) and (wrong := looks_problem(every, at_most)):
        yield f"{wrong}."


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
