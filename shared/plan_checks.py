"""What is wrong with the steps of an execution plan, held against the tools there are. Pure."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import Step
from parley.polling import AT_MOST, EVERY, condition_problem, looks_problem
from parley.protocol.tools import ToolSpec
from shared.domain.plan_steps import called, fresh_id, problems
from shared.domain.references import references
from shared.repair import repair

PYTHON = "text/x-python"  # of an argument, by JSON Schema's contentMediaType: it is run
LITERAL = frozenset({"sql", "code"})  # arguments that are executed as text: no output of a step may become part of them


def step_problems(steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """Why these steps cannot be carried out; none: they can, as far as can be known before they are."""
    found = [*problems(steps)]
    for number, step in enumerate(steps, 1):
        found += [f"{called(number, step)}: {problem}" for problem in call_problems(step, tools)]
    return tuple(found)


def completed_steps(steps: Sequence[Step], before: Sequence[Step], tools: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """A person's steps with what each tool does to the world, and ids, that no step `before` has, for those without."""
    taken = {step.id for step in (*before, *steps) if step.id}

    def completed(step: Step) -> Step:
        spec = tools.get(step.tool or "")
        told = {"effect": spec.effect, "policy": spec.policy, "waits_for": spec.waits_for} if spec else {}
        return step.model_copy(update={**told, "id": step.id or fresh_id(taken)})

    return tuple(completed(step) for step in steps)


def call_problems(step: Step, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """What is wrong with the step's tool and arguments."""
    spec = tools.get(step.tool or "")
    if spec is None:
        return (f"there is no tool “{(step.tool or '')[:80]}” here.",)
    if spec.policy == "deny":
        return (f"{spec.name} must not be used here.",)
    arguments = step.arguments or {}
    polls = spec.waits_for == "condition"  # whatever the step says of itself
    bound = [name for name in sorted(LITERAL & arguments.keys()) if references(arguments[name])]
    checked = repair(_literal(arguments), _without(spec, arguments))
    return (
        *(f"{name} is run as it is written: no reference may stand in it." for name in bound),
        *(f"{spec.name}: {problem}" for problem in checked.problems),
        *(f"{name} is no Python: {error}" for name, error in _not_python(arguments, spec)),
        *(f"{spec.name}: {fix}" for fix in checked.repairs),
        *(_polling_problems(step.model_copy(update={"waits_for": "condition"}), tools) if polls else ()),
    )


def polled_call(step: Step) -> Step | None:
    """The call that the step makes at each look; None for a step that does not poll."""
    arguments = step.arguments or {}
    name, called_with = arguments.get("tool"), arguments.get("arguments")
    if step.waits_for != "condition" or not isinstance(name, str):
        return None
    given = called_with if isinstance(called_with, dict) else {}
    return step.model_copy(update={"tool": name, "arguments": given, "waits_for": None})


def _polling_problems(step: Step, tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    """What is wrong with the call that the step makes at each look, and with its condition."""
    arguments = step.arguments or {}
    call, condition = polled_call(step), arguments.get("condition")
    if isinstance(arguments.get("arguments"), str):
        yield "arguments must be written out: a reference may stand in each of them, not for all."
    elif call and (spec := tools.get(call.tool or "")) and (spec.effect != "read" or spec.waits_for):
        yield f"{spec.name} does more than read: it cannot be polled."
    elif call:
        yield from call_problems(call, tools)
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
