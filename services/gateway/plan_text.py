"""A person's plan, written as text, read back into goal, steps and notes. Pure."""

import re
from typing import NamedTuple

from parley.events.values import Step
from shared.domain.errors import Invalid
from shared.domain.plan_text import plan_text
from shared.domain.state import Plan

NUMBERED = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*•])\s+(?P<text>\S.*)$")
LABELLED = re.compile(r"^\s*(?:\*\*|#+\s*)?(?P<label>goal|notes)\s*:(?:\*\*)?\s*(?P<text>.*)$", re.IGNORECASE)
MAX_STEPS, MAX_STEP = 100, 2_000


class PlanText(NamedTuple):
    """What the text says; a goal it does not name stays as it was, notes it does not have are gone."""

    goal: str | None
    steps: tuple[Step, ...]
    notes: str


def read_plan(content: str, plan: Plan | None = None) -> PlanText:
    """Numbered (or bulleted) lines are steps, `Goal:` and `Notes:` what they say, other lines go on with the last one.

    A line that stands unchanged in `plan` keeps that step's tool and arguments. Raises Invalid.
    """
    goal: list[str] = []
    notes: list[str] = []
    steps: list[list[str]] = []
    part: list[str] | None = None
    for line in content.splitlines():
        if labelled := LABELLED.match(line):
            part = goal if labelled["label"].lower() == "goal" else notes
            part.append(labelled["text"].strip())
        elif part is not notes and (numbered := NUMBERED.match(line)):
            part = [numbered["text"].strip()]
            steps.append(part)
        elif part is not None:
            part.append(line.strip())
    known = {_line(step): step for step in plan.steps} if plan else {}
    texts = [_joined(lines) for lines in steps]
    _check(texts)
    return PlanText(_joined(goal) or None, tuple(known.get(t) or Step(text=t) for t in texts), "\n".join(notes).strip())


def _check(texts: list[str]) -> None:
    if not texts:
        raise Invalid("The plan has no steps: write each as a numbered line.")
    if len(texts) > MAX_STEPS or any(len(text) > MAX_STEP for text in texts):
        raise Invalid(f"A plan has at most {MAX_STEPS} steps of {MAX_STEP} characters each.")


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _line(step: Step) -> str:
    """The step as its line in the plan's text, without the number."""
    return _joined([plan_text("", (step,)).splitlines()[2].removeprefix("1.")])
