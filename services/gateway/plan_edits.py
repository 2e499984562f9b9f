"""A user's version of a plan: read from a text, and checked against the available tools. Pure."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from parley.events.values import Step
from services.gateway.tools import Tools
from shared.domain import commands as c
from shared.domain.errors import Invalid
from shared.domain.plan_steps import changes_made, known_steps, step_label
from shared.domain.plan_text import plan_text
from shared.domain.plan_validation import refusal
from shared.domain.policy import outdated_reason
from shared.domain.session import Session
from shared.domain.state import Plan
from shared.plan_checks.steps import check_plan, with_ids

NUMBERED_LINE = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*•])\s+(?P<text>\S.*)$")
LABELLED_LINE = re.compile(r"^\s*(?:\*\*|#+\s*)?(?P<label>goal|notes)\s*:(?:\*\*)?\s*(?P<text>.*)$", re.IGNORECASE)
MAX_STEPS, MAX_STEP_CHARS = 100, 2_000


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


class PlanText(NamedTuple):
    """A parsed plan. `goal` None: unchanged. Notes that the text does not have are deleted."""

    goal: str | None
    steps: tuple[Step, ...]
    notes: str


def read_plan(content: str, plan: Plan | None = None) -> PlanText:
    """Parse numbered or bulleted lines as steps, and `Goal:` and `Notes:`; other lines continue the previous one.

    A step whose line is unchanged from `plan` keeps its tool and arguments. Raises Invalid.
    """
    goal: list[str] = []
    notes: list[str] = []
    steps: list[list[str]] = []
    part: list[str] | None = None
    for line in content.splitlines():
        if labelled := LABELLED_LINE.match(line):
            part = goal if labelled["label"].lower() == "goal" else notes
            part.append(labelled["text"].strip())
        elif part is not notes and (match := NUMBERED_LINE.match(line)):
            part = [match["text"].strip()]
            steps.append(part)
        elif part is not None:
            part.append(line.strip())
    known = {_step_line(step): step for step in plan.steps} if plan else {}
    texts = [_join_lines(lines) for lines in steps]
    _check_steps(texts)
    return PlanText(
        _join_lines(goal) or None, tuple(known.get(t) or Step(text=t) for t in texts), "\n".join(notes).strip()
    )


def _check_steps(texts: list[str]) -> None:
    if not texts:
        raise Invalid("The plan has no steps: write each as a numbered line.")
    if len(texts) > MAX_STEPS or any(len(text) > MAX_STEP_CHARS for text in texts):
        raise Invalid(f"A plan has at most {MAX_STEPS} steps of {MAX_STEP_CHARS} characters each.")


def _join_lines(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _step_line(step: Step) -> str:
    """The step's line in the plan's text, without its number."""
    return _join_lines([plan_text("", (step,)).splitlines()[2].removeprefix("1.")])
