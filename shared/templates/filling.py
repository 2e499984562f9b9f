"""A template with values for its parameters is a plan of one's own. Pure."""

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue, ValidationError

from parley.events.values import Step
from parley.protocol.bounds import OwnPlan
from parley.protocol.templates import Template
from shared.domain.errors import Invalid
from shared.repair import repair
from shared.templates.checks import form_problems, values_schema
from shared.templates.parameters import filled_in, refuse_references, words_with


def filled(template: Template, values: Mapping[str, JsonValue]) -> OwnPlan:
    """The plan that goes into review. An argument that is an optional parameter without a value is left out.

    Raises Invalid with all that is wrong.
    """
    if wrong := form_problems(template):
        raise Invalid(" ".join(wrong))
    complete = _complete(template, values)
    refuse_references(complete)
    try:
        return OwnPlan(
            goal=words_with(template.goal, complete),
            steps=tuple(
                Step(
                    id=step.id,
                    text=words_with(step.text, complete),
                    tool=step.tool,
                    arguments=cast("dict[str, JsonValue]", filled_in(dict(step.arguments), complete)),
                    after=step.after,
                    for_each=step.for_each,
                )
                for step in template.steps
            ),
        )
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        raise Invalid(f"With these values it is no plan: {told}") from error


def _complete(template: Template, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The values by the parameters' schemas, with defaults where none was given; "5" is a number where one belongs."""
    known = {one.name: one for one in template.parameters}
    if strange := [name for name in values if name not in known]:
        there = ", ".join(known) or "none"
        raise Invalid(f"There is no parameter {', '.join(strange[:3])[:200]}. This template's are: {there}.")
    complete: dict[str, JsonValue] = {one.name: one.default for one in known.values() if one.default is not None}
    complete |= {name: value for name, value in values.items() if value is not None}
    checked = repair(complete, values_schema(template))
    if checked.problems:
        raise Invalid(f"{'; '.join(checked.problems)}.")
    return checked.arguments
