"""Fills a template's parameters with values. The result is a plan of the user's own. Pure."""

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue, ValidationError

from parley.events.problems import problem_sentences
from parley.events.values import Step
from parley.protocol.bounds import OwnPlan
from parley.protocol.templates import Template
from shared.domain.errors import Invalid
from shared.repair import repair
from shared.templates.checks import template_form_problems, values_schema
from shared.templates.parameters import fill_in, fill_in_text, refuse_references


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
