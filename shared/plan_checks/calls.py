"""Checks a plan's tool calls, and repairs a model's arguments. Pure."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from pydantic import JsonValue

from parley.events.values import Step
from parley.polling import DEFAULT_AT_MOST, DEFAULT_EVERY, condition_problem, polls_problem
from parley.protocol.tools import ToolSpec
from shared.domain.steps.references import references
from shared.plan_checks.argument_kinds import PYTHON, reference_problems
from shared.plan_checks.argument_values import FormsOf, unknown_forms, value_problems
from shared.repair import NOT_GIVEN, RepairResult, repair

MAX_NAMES = 20  # tools named in a problem


def call_problems(step: Step, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """The problems of the step's tool and arguments."""
    spec = tools.get(step.tool or "")
    return tool_problems(step, spec) or (argument_problems(step, spec, tools) if spec else ())


def tool_problems(step: Step, spec: ToolSpec | None, allowed: Collection[str] = ()) -> tuple[str, ...]:
    """Why this tool cannot be used. `allowed`: the tools that the plan may use; empty: all."""
    name = (step.tool or "")[:80]
    if allowed and step.tool not in allowed:
        others = ", ".join(sorted(allowed)[:MAX_NAMES])
        return (f"{name or 'no tool'} is not among the tools that this plan may use: {others}.",)
    if spec is None:
        return (f"there is no tool “{name}” here.",)
    return (f"{spec.name} must not be used here.",) if spec.policy == "deny" else ()


def argument_problems(
    step: Step,
    spec: ToolSpec,
    tools: Mapping[str, ToolSpec],
    allowed: Collection[str] = (),
    forms_of: FormsOf = unknown_forms,
) -> tuple[str, ...]:
    """The problems of the arguments. A polling step calls another of the `tools`."""
    arguments = step.arguments or {}
    polls = spec.waits_for == "condition"  # whatever the step says
    own = {name: value for name, value in arguments.items() if not (polls and name == "arguments")}
    return (
        *reference_problems(own, spec.parameters),
        *value_problems(arguments, spec.parameters, spec.name, forms_of),
        *(f"argument {name}: it is no Python: {error}." for name, error in _not_python(arguments, spec)),
        *(_polling_problems(_polling(step), tools, allowed, forms_of) if polls else ()),
    )


def polled_call(step: Step) -> Step | None:
    """The call that a polling step makes at each poll; None for other steps."""
    arguments = step.arguments or {}
    name, called_with = arguments.get("tool"), arguments.get("arguments")
    if step.waits_for != "condition" or not isinstance(name, str):
        return None
    call_arguments = called_with if isinstance(called_with, dict) else {}
    return step.model_copy(update={"tool": name, "arguments": call_arguments, "waits_for": None})


def _polling(step: Step) -> Step:
    return step.model_copy(update={"waits_for": "condition"})


def _polling_problems(
    step: Step, tools: Mapping[str, ToolSpec], allowed: Collection[str], forms_of: FormsOf
) -> Iterator[str]:
    """The problems of a polling step's call and condition."""
    arguments = step.arguments or {}
    call, condition = polled_call(step), arguments.get("condition")
    if isinstance(arguments.get("arguments"), str):
        yield "arguments must be written out: a reference may stand in each of them, not for all."
    elif call:
        spec = tools.get(call.tool or "")
        if spec and (spec.effect != "read" or spec.waits_for):
            yield f"{spec.name} does more than read: it cannot be polled."
        else:
            unusable = tool_problems(call, spec, allowed)
            yield from unusable or (argument_problems(call, spec, tools, forms_of=forms_of) if spec else ())
    if isinstance(condition, str):
        if references(condition):
            yield "condition is evaluated as it is written: no reference may stand in it."
        elif wrong := condition_problem(condition):
            yield f"{wrong}."
    every, at_most = arguments.get("every", DEFAULT_EVERY), arguments.get("at_most", DEFAULT_AT_MOST)
    if isinstance(every, int) and isinstance(at_most, int) and (wrong := polls_problem(every, at_most)):
        yield f"{wrong}."


def _not_python(arguments: Mapping[str, JsonValue], spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """Arguments that the tool runs as Python but that cannot be parsed, each with the error."""
    properties = spec.parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        code = arguments.get(name)
        if isinstance(schema, dict) and schema.get("contentMediaType") == PYTHON and isinstance(code, str):
            try:
                ast.parse(code)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                yield name, str(error)


def repair_arguments(arguments: JsonValue, spec: ToolSpec) -> RepairResult:
    """Repair the arguments that a model wrote. Those with references to other steps or calls stay unchanged.

    The strict form of a schema makes a model fill in every field, with null for what it leaves out: dropping these
    nulls is no fix to report.
    """
    if not isinstance(arguments, dict):
        return repair(arguments, spec.parameters)
    bound = {name: value for name, value in arguments.items() if references(value)}
    repaired = repair(_literal(arguments), _without_references(spec, arguments))
    fixes = tuple(fix for fix in repaired.fixes if fix.why != NOT_GIVEN)
    return replace(repaired, arguments=repaired.arguments | bound, fixes=fixes)


def _literal(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in arguments.items() if not references(value)}


def _without_references(spec: ToolSpec, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The tool's schema, where arguments with references are not required."""
    required = spec.parameters.get("required")
    if not isinstance(required, list):
        return spec.parameters
    bound = {name for name, value in arguments.items() if references(value)}
    return {**spec.parameters, "required": [name for name in required if name not in bound]}
