"""A person's own version of a plan that acts, held against the tools there are. Pure."""

from collections.abc import Sequence

from parley.events.values import Step
from services.gateway.tools import Tools
from shared.domain import commands as c
from shared.domain.plan_steps import refusal
from shared.plan_checks import completed_steps, step_problems


def edited_steps(edit: c.EditPlan, before: Sequence[Step], tools: Tools) -> c.EditPlan:
    """The edit, with what each tool does to the world, and ids for the steps that are new.

    Raises Invalid with all that is wrong, step by step.
    """
    steps = completed_steps(edit.steps, before, tools)
    if problems := step_problems(steps, tools):
        raise refusal(steps, problems)
    return edit.model_copy(update={"steps": steps})
