"""Checks a template, by itself and against the available tools. Each problem is a sentence. Pure."""

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue, ValidationError

from parley.events.problems import problem_sentences
from parley.events.values import Step
from parley.protocol.bounds import OwnPlan
from parley.protocol.templates import Parameter, Template, TemplateStep
from parley.protocol.tools import ToolSpec
from shared.domain.kernel.errors import Invalid
from shared.domain.plan.validation import plan_problems
from shared.domain.steps.plan_steps import about, step_label
from shared.domain.steps.references import field_names, texts
from shared.plan_checks.argument_kinds import EXECUTED, argument_kind_of, placed_texts
from shared.plan_checks.argument_values import NO_ARGUMENT
from shared.plan_checks.calls import call_problems, polled_call
from shared.repair import repair
from shared.repair.schema import Schema, schema_problem
from shared.templates.parameters import (
    REFERENCE,
    fill_in,
    fill_in_text,
    is_in_host,
    parameters_in,
    refuse_references,
    with_optional_fields,
)

Tools = Mapping[str, ToolSpec]
Fingerprints = Mapping[str, str]
NO_PARAMETER_ALLOWED = "{name} runs exactly as written: it cannot contain a parameter."
POLLED = ("tool", "arguments", "condition")  # what a polling step calls, and until when


def template_problems(template: Template, tools: Tools, fingerprints: Fingerprints | None = None) -> tuple[str, ...]:
    """Why the template cannot be used as it is; empty if it can.

    `fingerprints`: those of its tools when it was saved.
    """
    problems = [*template_form_problems(template)]
    for number, step in enumerate(template.steps, 1):
        label, call = step_label(number, as_step(step)), as_step(step)
        problems += [about(label, problem) for problem in _call_problems(call, tools)]
    changed = [
        name for name, known in (fingerprints or {}).items() if name in tools and tools[name].fingerprint != known
    ]
    problems += [
        f"{name} has changed since the template was saved: look at its steps, and save the template again."
        for name in changed
    ]
    return tuple(dict.fromkeys(problems))


def template_form_problems(template: Template) -> tuple[str, ...]:
    """The template's problems that do not depend on the tools."""
    names = [parameter.name for parameter in template.parameters]
    problems = [f"Two parameters have the name {name}." for name in dict.fromkeys(names) if names.count(name) > 1]
    for parameter in template.parameters:
        problems += _parameter_problems(parameter)
    texts = [template.goal, *(step.text for step in template.steps)]
    used = [name for step in template.steps for name in parameters_in(dict(step.arguments))]
    used += [name for name in parameters_in(list(texts)) if name not in used]
    problems += [f"There is no parameter {name}: declare it." for name in dict.fromkeys(used) if name not in names]
    problems += plan_problems([_without_parameters(as_step(step)) for step in template.steps])
    for number, step in enumerate(template.steps, 1):
        label = step_label(number, as_step(step))
        problems += [f"{label}: the name of a tool cannot contain a reference."] if "{{" in step.tool else []
        named = {name: value for name, value in step.arguments.items() if argument_kind_of(name, {}) != "text"}
        problems += [f"{label}: {problem}" for problem in _misplaced_parameters(named, {})]
    return tuple(problems)


def fingerprints_of(template: Template, tools: Tools) -> dict[str, str]:
    """The fingerprints of the template's tools that are available."""
    used = dict.fromkeys(name for step in template.steps for name in _tools_of(step, tools))
    return {name: tools[name].fingerprint for name in used if name in tools}


def _tools_of(step: TemplateStep, tools: Tools) -> Iterator[str]:
    """The step's tool, and the tool that it polls."""
    yield step.tool
    polled = step.arguments.get("tool")
    if (spec := tools.get(step.tool)) and spec.waits_for == "condition" and isinstance(polled, str):
        yield polled


def values_schema(template: Template) -> dict[str, JsonValue]:
    """A JSON schema of the values for the template's parameters, as a form takes them."""
    fields: dict[str, JsonValue] = {}
    for parameter in template.parameters:
        schema: dict[str, JsonValue] = {**parameter.json_schema}
        schema |= {"description": parameter.description} if parameter.description else {}
        fields[parameter.name] = schema | ({"default": parameter.default} if parameter.default is not None else {})
    needed: list[JsonValue] = [
        parameter.name for parameter in template.parameters if parameter.required and parameter.default is None
    ]
    return {"type": "object", "properties": fields, "required": needed, "additionalProperties": False}


def as_step(step: TemplateStep) -> Step:
    return Step.model_validate(step.model_dump())


def _parameter_problems(parameter: Parameter) -> Iterator[str]:
    form: dict[str, JsonValue] = {"type": "object", "properties": {parameter.name: dict(parameter.json_schema)}}
    if fault := schema_problem(form):
        yield f"Parameter {parameter.name}: {fault}."
    elif parameter.default is not None:
        checked = repair({parameter.name: parameter.default}, form)
        yield from (f"Parameter {parameter.name}, its default: {problem}." for problem in checked.problems)
        yield from (f"Parameter {parameter.name}, its default: {fix}." for fix in checked.repairs)
    if any("{{" in text for text in (*texts(parameter.default), *field_names(parameter.default))):
        yield f"Parameter {parameter.name}, its default: it cannot contain a reference."


def _call_problems(call: Step, tools: Tools) -> Iterator[str]:
    """The problems of a call and of the call that it polls. Arguments that contain parameters have no values yet."""
    spec, arguments = tools.get(call.tool or ""), call.arguments or {}
    polled = polled_call(call.model_copy(update={"waits_for": spec.waits_for})) if spec else None
    known, literal = dict(tools), _literal(arguments)
    own = {name: value for name, value in arguments.items() if not polled or name not in POLLED}
    for each, values in ((call, own), (polled, (polled.arguments or {}) if polled else {})):
        if each and (own_spec := tools.get(each.tool or "")):
            unset = [name for name, value in (each.arguments or {}).items() if parameters_in(value)]
            names = own_spec.parameters.get("properties")
            unknown = [name for name in unset if isinstance(names, dict) and name not in names]
            yield from (NO_ARGUMENT.format(tool=own_spec.name, name=name) for name in unknown)
            yield from _misplaced_parameters(values, own_spec.parameters)
            optional = {"parameters": with_optional_fields(unset, own_spec.parameters)}
            known[own_spec.name] = own_spec.model_copy(update=optional)
    if polled:
        as_text = [name for name in POLLED if isinstance(arguments.get(name), str) and parameters_in(arguments[name])]
        yield from (NO_PARAMETER_ALLOWED.format(name=name) for name in as_text)
        literal["arguments"] = _literal(polled.arguments or {})
    yield from call_problems(call.model_copy(update={"arguments": literal}), known)


def _literal(arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in arguments.items() if not parameters_in(value)}


def _misplaced_parameters(arguments: Mapping[str, JsonValue], schema: Schema) -> Iterator[str]:
    """Problems of parameters in texts that run as written, or in the host of a URL."""
    for place, kind, text in placed_texts(arguments, schema):
        if kind in EXECUTED and parameters_in(text):
            yield NO_PARAMETER_ALLOWED.format(name=place)
        elif kind == "url" and is_in_host(text):
            yield f"{place}: a parameter may not be a part of a URL's scheme or host."


def _without_parameters(step: Step) -> Step:
    """The step with a placeholder in place of each parameter, for checks that know no parameters."""
    return step.model_copy(update={"arguments": _blank_parameters(step.arguments)})


def _blank_parameters(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return REFERENCE.sub("0", value)
        case list():
            return [_blank_parameters(item) for item in value]
        case dict():
            return {name: _blank_parameters(item) for name, item in value.items()}
        case _:
            return value


def fill_template(template: Template, values: Mapping[str, JsonValue]) -> OwnPlan:
    """The plan for review. An argument that is an optional parameter without a value is left out.

    Raises Invalid with all problems.
    """
    if wrong := template_form_problems(template):
        raise Invalid(" ".join(wrong))
    complete = _complete_values(template, values)
    refuse_references(complete)
    try:
        return OwnPlan(
            goal=fill_in_text(template.goal, complete),
            steps=tuple(
                Step(
                    id=step.id,
                    text=fill_in_text(step.text, complete),
                    tool=step.tool,
                    arguments=cast("dict[str, JsonValue]", fill_in(dict(step.arguments), complete)),
                    after=step.after,
                    for_each=step.for_each,
                )
                for step in template.steps
            ),
        )
    except ValidationError as error:
        problems = problem_sentences(error.errors(), whole="template")
        raise Invalid(f"With these values it is not a plan. {problems}") from error


def _complete_values(template: Template, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The values checked by the parameters' schemas, with defaults.

    A text such as "5" becomes a number where one is needed.
    """
    known = {parameter.name: parameter for parameter in template.parameters}
    if unknown := [name for name in values if name not in known]:
        known_names = ", ".join(known) or "none"
        raise Invalid(f"There is no parameter {', '.join(unknown[:3])[:200]}. This template's are: {known_names}.")
    complete: dict[str, JsonValue] = {
        parameter.name: parameter.default for parameter in known.values() if parameter.default is not None
    }
    complete |= {name: value for name, value in values.items() if value is not None}
    checked = repair(complete, values_schema(template))
    if checked.problems:
        raise Invalid(f"{'; '.join(checked.problems)}.")
    return checked.arguments
