"""A template made from a plan's steps, drafted or done, with chosen values as its parameters. Pure."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from parley.events.values import Step
from parley.protocol.templates import Candidate, ChosenValue, Parameter, Template, TemplateStep
from shared.domain.errors import Invalid
from shared.plan_checks.kinds import RUN, argument_kind
from shared.templates.checks import Tools
from shared.templates.parameters import reference
from shared.templates.schemas import schema_at

type Path = tuple[str | int, ...]


class Wanted(NamedTuple):
    """What a template is called, and which values are its parameters. Without a name it is called as its goal."""

    name: str = ""
    description: str = ""
    parameters: Sequence[ChosenValue] = ()


def made_from(goal: str, steps: Sequence[Step], wanted: Wanted, tools: Tools) -> Template:
    """The plan with its chosen values replaced, in arguments and in its words. Raises Invalid."""
    if any(not step.tool or not step.id for step in steps):
        raise Invalid("A template is made of calls: a plan in words has none.")
    if any("{{params." in text for step in steps for text in (step.text, goal)):
        raise Invalid("“{{params.” stands in the plan's words: change these first.")
    arguments = {step.id or "": dict(step.arguments or {}) for step in steps}
    parameters: dict[str, Parameter] = {}
    texts = {step.id or "": step.text for step in steps}
    for chosen in wanted.parameters:
        places = [(step, path) for step in steps for path in _places(step, chosen, tools)]
        if not places:
            raise Invalid(f"{chosen.name}: no argument of the plan is {str(chosen.value)[:100]!r}.")
        for step, path in places:
            _put(arguments[step.id or ""], path, reference(chosen.name))
        parameters.setdefault(chosen.name, _parameter(chosen, *places[0], tools))
        for name, text in texts.items():
            if chosen.step in (None, name):
                texts[name] = _in_words(text, chosen)
        goal = _in_words(goal, chosen)
    try:
        return Template(
            name=(wanted.name or goal)[:200],
            description=wanted.description,
            goal=goal,
            parameters=tuple(parameters.values()),
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
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        raise Invalid(f"It cannot be a template: {told}") from error


def candidates(steps: Sequence[Step], tools: Tools) -> tuple[Candidate, ...]:
    """The values that can become parameters, each once, in the order of the plan."""
    found: dict[str, Candidate] = {}
    for step in steps:
        for path, value in leaves(_free(step, tools)):
            if value is None or value == "" or (isinstance(value, str) and "{{" in value):
                continue
            key = json.dumps(value)
            argument = next(str(part) for part in reversed(path) if isinstance(part, str))
            name = _name(argument, {one.name for one in found.values()})
            first = found.setdefault(key, Candidate(name=name, value=value, argument=argument, steps=()))
            where = tuple(dict.fromkeys((*first.steps, step.id or "")))
            found[key] = first.model_copy(update={"steps": where})
    return tuple(found.values())


def _free(step: Step, tools: Tools) -> dict[str, JsonValue]:
    """The arguments that are not run as they are written."""
    spec = tools.get(step.tool or "")
    schema = spec.parameters if spec else {}
    return {name: value for name, value in (step.arguments or {}).items() if argument_kind(name, schema) not in RUN}


def _name(argument: str, taken: Collection[str]) -> str:
    """The argument's name as that of a parameter, with a number where it is taken."""
    plain = re.sub(r"^[^A-Za-z]+", "", re.sub(r"\W+", "_", argument, flags=re.ASCII))[:28] or "value"
    numbered = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in numbered if name not in taken)


def leaves(value: JsonValue, path: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    """Every scalar with where it is, in order."""
    match value:
        case dict():
            for name, item in value.items():
                yield from leaves(item, (*path, name))
        case list():
            for number, item in enumerate(value):
                yield from leaves(item, (*path, number))
        case _:
            yield path, value


def same(one: JsonValue, other: JsonValue) -> bool:
    """Equal, and of one type: 1 is neither true nor "1"."""
    return type(one) is type(other) and one == other


def _places(step: Step, chosen: ChosenValue, tools: Tools) -> Iterator[Path]:
    if chosen.step not in (None, step.id):
        return
    for name, value in _free(step, tools).items():
        if chosen.argument not in (None, name):
            continue
        if same(value, chosen.value):
            yield (name,)
        else:
            yield from (path for path, found in leaves(value, (name,)) if same(found, chosen.value))


def _put(arguments: dict[str, JsonValue], path: Path, text: str) -> None:
    """Replace the value at this place; what is around it is copied, because a plan shares it."""
    first, *rest = path
    arguments[str(first)] = _with(arguments[str(first)], tuple(rest), text)


def _with(value: JsonValue, path: Path, text: str) -> JsonValue:
    if not path:
        return text
    first, *rest = path
    if isinstance(value, dict):
        return {name: _with(item, tuple(rest), text) if name == first else item for name, item in value.items()}
    if isinstance(value, list):
        return [_with(item, tuple(rest), text) if number == first else item for number, item in enumerate(value)]
    return value


def _parameter(chosen: ChosenValue, step: Step, path: Path, tools: Tools) -> Parameter:
    """Typed by the tool's model where it stands first; without a tool, by its value."""
    spec = tools.get(step.tool or "")
    taken = schema_at(spec.parameters, path) if spec else {}
    told = taken.pop("description", "")
    taken.pop("title", None)
    taken.pop("default", None)
    default = None if chosen.required else chosen.value
    words = chosen.description or (told if isinstance(told, str) else "")
    return Parameter(
        name=chosen.name, json_schema=taken, description=words[:2_000], default=default, required=chosen.required
    )


def _in_words(text: str, chosen: ChosenValue) -> str:
    """A plan that says one order, and cancels another, would mislead whoever approves it."""
    if isinstance(chosen.value, bool) or not isinstance(chosen.value, str | int | float):
        return text
    spelled = str(chosen.value)
    if len(spelled) < 2:
        return text
    alone = re.compile(rf"(?<![\w{{]){re.escape(spelled)}(?!\w)")
    return alone.sub(lambda _: reference(chosen.name), text)
