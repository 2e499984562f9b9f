"""Checks a user's version of an execution plan against the available tools. Pure."""

from collections.abc import Collection, Sequence

from parley.events.values import Step
from services.gateway.tools import Tools
from shared.domain import commands as c
from shared.domain.plan_steps import changes_made, known_steps, step_label
from shared.domain.plan_validation import refusal
from shared.domain.policy import outdated_reason
from shared.domain.session import Session
from shared.plan_checks.steps import check_plan, with_ids


def edited_steps(
    edit: c.EditPlan, tools: Tools, *, session: Session | None = None, allowed: Collection[str] = ()
) -> c.EditPlan:
    """The edit with each tool's effect, ids for new steps, and the results of its checks.

    `session` has the plan that is edited, if there is one. `allowed`: the tools that the plan may use; empty: all.
    Raises Invalid with every problem, by step.
    """
    before, earlier_changes = (known_steps(session), changes_made(session)) if session else ((), {})
    checked_plan = check_plan(with_ids(edit.steps, before), tools, allowed=allowed, earlier_changes=earlier_changes)
    if checked_plan.problems:
        raise refusal(checked_plan.steps, checked_plan.problems)
    return edit.model_copy(update={"steps": checked_plan.steps, "checks": checked_plan.checks})


def check_current(steps: Sequence[Step], tools: Tools) -> None:
    """Raises Invalid, by step, if a tool has changed since the plan was made, or no longer exists."""
    specs = [tools.get(step.tool or "") for step in steps]
    changes = [outdated_reason(step, spec.rule if spec else None) for step, spec in zip(steps, specs, strict=True)]
    if any(changes):
        labels = [step_label(number, step) for number, step in enumerate(steps, 1)]
        raise refusal(steps, [f"{name}: {text}" for name, text in zip(labels, changes, strict=True) if text])
