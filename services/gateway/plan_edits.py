"""A person's own version of a plan that acts, held against the tools there are. Pure."""

from collections.abc import Collection, Sequence

from parley.events.values import Step
from services.gateway.tools import Tools
from shared.domain import commands as c
from shared.domain.plan_steps import called, refusal
from shared.domain.policy import outdated
from shared.plan_checks.steps import checked, with_ids


def edited_steps(
    edit: c.EditPlan, before: Sequence[Step], tools: Tools, *, allowed: Collection[str] = ()
) -> c.EditPlan:
    """The edit, with what each tool does to the world, ids for the steps that are new, and what its checks found.

    `allowed`: the only tools that the plan may use; none: all. Raises Invalid with all that is wrong, step by step.
    """
    found = checked(with_ids(edit.steps, before), tools, allowed=allowed)
    if found.problems:
        raise refusal(found.steps, found.problems)
    return edit.model_copy(update={"steps": found.steps, "checks": found.checks})


def check_current(steps: Sequence[Step], tools: Tools) -> None:
    """Raises Invalid, step by step, where a tool has changed since the plan was made, or is gone."""
    specs = [tools.get(step.tool or "") for step in steps]
    why = [outdated(step, spec.rule if spec else None) for step, spec in zip(steps, specs, strict=True)]
    if any(why):
        named = [called(number, step) for number, step in enumerate(steps, 1)]
        raise refusal(steps, [f"{name}: {text}" for name, text in zip(named, why, strict=True) if text])
