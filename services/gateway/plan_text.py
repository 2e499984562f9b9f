"""Parses a plan that a user wrote as text into goal, steps and notes. Pure."""

import re
from typing import NamedTuple

from parley.events.values import Step
from shared.domain.errors import Invalid
from shared.domain.plan_text import plan_text
from shared.domain.state import Plan

NUMBERED_LINE = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*•])\s+(?P<text>\S.*)$")
LABELLED_LINE = re.compile(r"^\s*(?:\*\*|#+\s*)?(?P<label>goal|notes)\s*:(?:\*\*)?\s*(?P<text>.*)$", re.IGNORECASE)
MAX_STEPS, MAX_STEP_CHARS = 100, 2_000


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
