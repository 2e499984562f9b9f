"""What is wrong with a template, by itself and held against the tools there are: each in a sentence. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol.templates import Parameter, Template, TemplateStep
from parley.protocol.tools import ToolSpec
from shared.domain.plan_steps import called, problems
from shared.plan_checks.calls import call_problems
from shared.plan_checks.kinds import RUN, argument_kind, kind_of
from shared.repair import repair
from shared.repair.schema import fault_of
from shared.templates.parameters import REFERENCE, in_host, is_url, names, parameters_in, texts, without

Tools = Mapping[str, ToolSpec]
Fingerprints = Mapping[str, str]
AS_WRITTEN = "{name} is run as it is written: no parameter may stand in it."


def template_problems(template: Template, tools: Tools, fingerprints: Fingerprints | None = None) -> tuple[str, ...]:
    """Why the template cannot be used as it is; none: it can. `fingerprints`: of its tools when it was saved."""
    found = [*form_problems(template)]
    for number, step in enumerate(template.steps, 1):
        found += [f"{called(number, plain(step))}: {problem}" for problem in _of_call(step, tools)]
    changed = [
        name for name, known in (fingerprints or {}).items() if name in tools and tools[name].fingerprint != known
    ]
    found += [
        f"{name} has changed since the template was saved: look at its steps, and save the template again."
        for name in changed
    ]
    return tuple(found)


def form_problems(template: Template) -> tuple[str, ...]:
    """What is wrong whatever the tools are."""
    given = [parameter.name for parameter in template.parameters]
    found = [f"Two parameters have the name {name}." for name in dict.fromkeys(given) if given.count(name) > 1]
    for parameter in template.parameters:
        found += _of_parameter(parameter)
    words = [template.goal, *(step.text for step in template.steps)]
    used = [name for step in template.steps for name in parameters_in(dict(step.arguments))]
    used += [name for name in parameters_in(list(words)) if name not in used]
    found += [f"There is no parameter {name}: declare it." for name in dict.fromkeys(used) if name not in given]
    found += problems([_closed(plain(step)) for step in template.steps])
    for number, step in enumerate(template.steps, 1):
        found += [f"{called(number, plain(step))}: {problem}" for problem in _misplaced(step)]
    return tuple(found)


def fingerprints_of(template: Template, tools: Tools) -> dict[str, str]:
    """Of each of its tools that there is."""
    used = dict.fromkeys(name for step in template.steps for name in _tools_of(step, tools))
    return {name: tools[name].fingerprint for name in used if name in tools}


def _tools_of(step: TemplateStep, tools: Tools) -> Iterator[str]:
    """The step's tool, and the one that it polls."""
    yield step.tool
    polled = step.arguments.get("tool")
    if (spec := tools.get(step.tool)) and spec.waits_for == "condition" and isinstance(polled, str):
        yield polled


def values_schema(template: Template) -> dict[str, JsonValue]:
    """What a form for its parameters takes, as a JSON schema."""
    fields: dict[str, JsonValue] = {}
    for one in template.parameters:
        told: dict[str, JsonValue] = {**one.json_schema}
        told |= {"description": one.description} if one.description else {}
        fields[one.name] = told | ({"default": one.default} if one.default is not None else {})
    needed: list[JsonValue] = [one.name for one in template.parameters if one.required and one.default is None]
    return {"type": "object", "properties": fields, "required": needed, "additionalProperties": False}


def plain(step: TemplateStep) -> Step:
    return Step.model_validate(step.model_dump())


def _of_parameter(one: Parameter) -> Iterator[str]:
    form: dict[str, JsonValue] = {"type": "object", "properties": {one.name: dict(one.json_schema)}}
    if fault := fault_of(form):
        yield f"Parameter {one.name}: {fault}."
    elif one.default is not None:
        checked = repair({one.name: one.default}, form)
        yield from (f"Parameter {one.name}, its default: {problem}." for problem in checked.problems)
        yield from (f"Parameter {one.name}, its default: {fix}." for fix in checked.repairs)
    if any("{{" in text for text in (*texts(one.default), *names(one.default))):
        yield f"Parameter {one.name}, its default: no reference may stand in it."


def _of_call(step: TemplateStep, tools: Tools) -> tuple[str, ...]:
    """Arguments with parameters in them are looked at when these have values."""
    spec = tools.get(step.tool)
    unset = [name for name, value in step.arguments.items() if parameters_in(value)]
    if spec is None or not unset:
        return call_problems(plain(step), tools)
    left = {name: value for name, value in step.arguments.items() if name not in unset}
    polls = None if "arguments" in unset else spec.waits_for  # a polled call is looked at when it has its values
    rest = spec.model_copy(update={"parameters": without(unset, spec.parameters), "waits_for": polls})
    unknown = spec.parameters.get("properties")
    strange = [name for name in unset if isinstance(unknown, dict) and name not in unknown]
    run = [name for name in unset if argument_kind(name, spec.parameters) in RUN - {kind_of(name, {})}]
    return (
        *(f"{spec.name} has no argument {name}." for name in strange),
        *(AS_WRITTEN.format(name=name) for name in run),
        *call_problems(plain(step).model_copy(update={"arguments": left}), {**tools, spec.name: rest}),
    )


def _misplaced(step: TemplateStep) -> Iterator[str]:
    """Parameters where none may be."""
    if "{{" in step.tool:
        yield "no reference may stand in the name of a tool."
    yield from (
        AS_WRITTEN.format(name=name)
        for name in sorted(step.arguments)
        if kind_of(name, {}) in RUN and parameters_in(step.arguments[name])
    )
    for name, value in step.arguments.items():
        if is_url(name) and isinstance(value, str) and in_host(value):
            yield f"{name}: a parameter may not be a part of a URL's scheme or host."


def _closed(step: Step) -> Step:
    """The step as it looks to rules that know no parameters."""
    return step.model_copy(update={"arguments": _blank(step.arguments)})


def _blank(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return REFERENCE.sub("0", value)
        case list():
            return [_blank(item) for item in value]
        case dict():
            return {name: _blank(item) for name, item in value.items()}
        case _:
            return value
