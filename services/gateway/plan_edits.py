"""A person's own version of a plan that acts, held against the tools there are. Pure."""

from collections.abc import Sequence

from parley.events.values import Step
from services.gateway.tools import Tools
from shared.domain import commands as c
from shared.domain.plan_steps import fresh_id, refusal
from shared.plan_checks import step_problems


def edited_steps(edit: c.EditPlan, before: Sequence[Step], tools: Tools) -> c.EditPlan:
    """The edit, with what each tool does to the world, and ids for the steps that are new.

    Raises Invalid with all that is wrong, step by step.
    """
    taken = {step.id for step in (*before, *edit.steps) if step.id}
    steps = tuple(_completed(step, tools, taken) for step in edit.steps)
    if problems := step_problems(steps, tools):
        raise refusal(steps, problems)
    return edit.model_copy(update={"steps": steps})


def _completed(step: Step, tools: Tools, taken: set[str]) -> Step:
    spec = tools.get(step.tool or "")
    told = {"effect": spec.effect, "policy": spec.policy} if spec else {}
    return step.model_copy(update={**told, "id": step.id or fresh_id(taken)})
