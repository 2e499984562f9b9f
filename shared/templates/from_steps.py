"""Makes a template from a plan's steps, drafted or done, with chosen values as parameters. Pure."""

import json
import re
from collections.abc import Collection, Iterator, Sequence

from pydantic import JsonValue, ValidationError

from parley.events.problems import problem_sentences
from parley.events.values import Step
from parley.protocol.templates import Candidate, ChosenValue, Parameter, Template, TemplateStep
from shared.domain.kernel.errors import Invalid
from shared.plan_checks.argument_kinds import EXECUTED, argument_kind
from shared.repair.reader import schema_at
from shared.templates.checks import Tools
from shared.templates.parameters import reference

type Path = tuple[str | int, ...]


def template_from_steps(  # noqa: PLR0913  what a person chooses, by name
    goal: str,
    steps: Sequence[Step],
    tools: Tools,
    *,
    name: str = "",
    description: str = "",
    parameters: Sequence[ChosenValue] = (),
) -> Template:
    """The template of the steps, with the chosen values replaced in arguments and texts. Raises Invalid.

    Without a name its goal is the name.
    """
    if any(not step.tool or not step.id for step in steps):
        raise Invalid("A template consists of calls: a text plan has none.")
    if any("{{params." in text for step in steps for text in (step.text, goal)):
        raise Invalid("“{{params.” occurs in the plan's text: change the text first.")
    arguments = {step.id or "": dict(step.arguments or {}) for step in steps}
    declared: dict[str, Parameter] = {}
    texts = {step.id or "": step.text for step in steps}
    for chosen in parameters:
        places = [(step, path) for step in steps for path in _places(step, chosen, tools)]
        if not places:
            raise Invalid(f"{chosen.name}: no argument of the plan is {str(chosen.value)[:100]!r}.")
        for step, path in places:
            _replace_at(arguments[step.id or ""], path, reference(chosen.name))
        declared.setdefault(chosen.name, _parameter(chosen, *places[0], tools))
        for step_id, text in texts.items():
            if chosen.step in (None, step_id):
                texts[step_id] = _replace_in_text(text, chosen)
        goal = _replace_in_text(goal, chosen)
    try:
        return Template(
            name=(name or goal)[:200],
            description=description,
            goal=goal,
            parameters=tuple(declared.values()),
            steps=tuple(
                TemplateStep(
                    id=step.id or "",
                    text=texts[step.id or ""],
                    tool=step.tool or "",
                    arguments=arguments[step.id or ""],
                    after=step.after,
                    for_each=step.for_each,
                )
                for step in steps
            ),
        )
    except ValidationError as error:
        problems = problem_sentences(error.errors(), whole="template")
        raise Invalid(f"It cannot be a template. {problems}") from error


def parameter_candidates(steps: Sequence[Step], tools: Tools) -> tuple[Candidate, ...]:
    """The values that can become parameters, each once, in the order of the plan."""
    candidates: dict[str, Candidate] = {}
    for step in steps:
        for path, value in leaves(_parameterizable_arguments(step, tools)):
            if value is None or value == "" or (isinstance(value, str) and "{{" in value):
                continue
            key = json.dumps(value)
            argument = next(str(part) for part in reversed(path) if isinstance(part, str))
            name = _unused_name(argument, {candidate.name for candidate in candidates.values()})
            first = candidates.setdefault(key, Candidate(name=name, value=value, argument=argument, steps=()))
            where = tuple(dict.fromkeys((*first.steps, step.id or "")))
            candidates[key] = first.model_copy(update={"steps": where})
    return tuple(candidates.values())


def _parameterizable_arguments(step: Step, tools: Tools) -> dict[str, JsonValue]:
    """The arguments that may contain parameters: not those that run exactly as written."""
    spec = tools.get(step.tool or "")
    schema = spec.parameters if spec else {}
    return {
        name: value for name, value in (step.arguments or {}).items() if argument_kind(name, schema) not in EXECUTED
    }


def _unused_name(argument: str, taken: Collection[str]) -> str:
    """A parameter name made from the argument's name, with a number if it is taken."""
    base = re.sub(r"^[^A-Za-z]+", "", re.sub(r"\W+", "_", argument, flags=re.ASCII))[:28] or "value"
    names = (base, *(f"{base}_{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    """Yields every scalar with its path, in order."""
    match value:
        case dict():
            for name, item in value.items():
                yield from leaves(item, (*path, name))
        case list():
            for number, item in enumerate(value):
                yield from leaves(item, (*path, number))
        case _:
            yield path, value


def is_same_value(value: JsonValue, other: JsonValue) -> bool:
    """Whether both values are equal and of one type: 1 is neither true nor "1"."""
    return type(value) is type(other) and value == other


def _places(step: Step, chosen: ChosenValue, tools: Tools) -> Iterator[Path]:
    if chosen.step not in (None, step.id):
        return
    for name, value in _parameterizable_arguments(step, tools).items():
        if chosen.argument not in (None, name):
            continue
        if is_same_value(value, chosen.value):
            yield (name,)
        else:
            yield from (path for path, leaf in leaves(value, (name,)) if is_same_value(leaf, chosen.value))


def _replace_at(arguments: dict[str, JsonValue], path: Path, text: str) -> None:
    """Replaces the value at the path. Copies what surrounds it, because plans share their arguments."""
    first, *rest = path
    arguments[str(first)] = _with_value(arguments[str(first)], tuple(rest), text)


def _with_value(value: JsonValue, path: Path, text: str) -> JsonValue:
    if not path:
        return text
    first, *rest = path
    if isinstance(value, dict):
        return {name: _with_value(item, tuple(rest), text) if name == first else item for name, item in value.items()}
    if isinstance(value, list):
        return [_with_value(item, tuple(rest), text) if number == first else item for number, item in enumerate(value)]
    return value


def _parameter(chosen: ChosenValue, step: Step, path: Path, tools: Tools) -> Parameter:
    """The parameter, typed by the tool's schema at the first place; without a tool, by its value."""
    spec = tools.get(step.tool or "")
    schema = schema_at(spec.parameters, path) if spec else {}
    description = schema.pop("description", "")
    schema.pop("title", None)
    schema.pop("default", None)
    default = None if chosen.required else chosen.value
    text = chosen.description or (description if isinstance(description, str) else "")
    return Parameter(
        name=chosen.name, json_schema=schema, description=text[:2_000], default=default, required=chosen.required
    )


def _replace_in_text(text: str, chosen: ChosenValue) -> str:
    """The text with the value replaced by the parameter.

    Text that names other values than the calls would mislead approvers.
    """
    if isinstance(chosen.value, bool) or not isinstance(chosen.value, str | int | float):
        return text
    spelled = str(chosen.value)
    if len(spelled) < 2:
        return text
    alone = re.compile(rf"(?<![\w{{]){re.escape(spelled)}(?!\w)")
    return alone.sub(lambda _: reference(chosen.name), text)
