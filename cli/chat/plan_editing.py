"""Plans as text that a user edits. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from cli.text import one_line
from parley.events.values import Step

_STEP = re.compile(r"^\s{0,3}(?:\d{1,3}[.)]|[-*])\s+(.*)$")
HELP = """\
# Change the plan above, then save and close. One numbered line is one step; a line
# that is indented continues the step before it. Lines that begin with # are ignored.
"""


class EditedPlan(NamedTuple):
    """A plan as the user has edited it."""

    goal: str
    steps: tuple[Step | str, ...]
    notes: str


class InvalidPlanText(ValueError):
    """The text is not a plan; the message says what is missing."""


def editable(goal: str, steps: Sequence[Step], notes: str) -> str:
    """A plan as numbered text that `read_plan` parses."""
    lines = [f"Goal: {one_line(goal)}", ""]
    for number, step in enumerate(steps, 1):
        first, *rest = step.text.splitlines() or [""]
        lines += [f"{number}. {first}", *(f"    {line}" for line in rest)]
    return "\n".join([*lines, "", "Notes:", *notes.splitlines(), ""])


def read_plan(text: str, known: Sequence[Step] = ()) -> EditedPlan:
    """Parse the edited text of `editable(...)`. A step with unchanged text keeps its tool and arguments.

    Raises InvalidPlanText if there is no goal or no step.
    """
    goal, steps, notes, at_notes = "", list[str](), list[str](), False
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if at_notes:
            notes.append(line)
        elif line.startswith("Notes:"):
            at_notes, notes = True, [line.removeprefix("Notes:").strip()]
        elif line.startswith("Goal:"):
            goal = line.removeprefix("Goal:").strip()
        elif match := _STEP.match(line):
            steps.append(match[1].rstrip())
        elif steps and line.strip():
            steps[-1] += f"\n{line.strip()}"
    steps = [step for step in steps if step.strip()]
    if not goal:
        raise InvalidPlanText("The plan has no line that begins with “Goal:”.")
    if not steps:
        raise InvalidPlanText("The plan has no step: write each as a line like “1. Read the file”.")
    before = {_words(step.text): step for step in known}
    return EditedPlan(goal, tuple(before.get(_words(step)) or step for step in steps), "\n".join(notes).strip())


def _words(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())
