"""Plans as text that a person edits, and text cut to a line. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from cli.visible import visible
from parley.events.values import Step

_STEP = re.compile(r"^\s{0,3}(?:\d{1,3}[.)]|[-*])\s+(.*)$")
HELP = """\
# Change the plan above, then save and close. One numbered line is one step; a line
# that is further in goes on with the step before it. Lines with # are left out.
"""


class Draft(NamedTuple):
    """A plan as a person wrote it."""

    goal: str
    steps: tuple[Step | str, ...]
    notes: str


class Unreadable(ValueError):
    """The text is not a plan; the message says what is missing."""


def editable(goal: str, steps: Sequence[Step], notes: str) -> str:
    """A plan as numbered text; `read_plan` reads it back."""
    lines = [f"Goal: {_one_line(goal)}", ""]
    for number, step in enumerate(steps, 1):
        first, *rest = step.text.splitlines() or [""]
        lines += [f"{number}. {first}", *(f"    {line}" for line in rest)]
    return "\n".join([*lines, "", "Notes:", *notes.splitlines(), ""])


def read_plan(text: str, known: Sequence[Step] = ()) -> Draft:
    """What a person made of `editable(...)`. A step whose words are as before keeps its tool and arguments.

    Raises Unreadable when there is no goal or no step.
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
        elif found := _STEP.match(line):
            steps.append(found[1].rstrip())
        elif steps and line.strip():
            steps[-1] += f"\n{line.strip()}"
    steps = [step for step in steps if step.strip()]
    if not goal:
        raise Unreadable("The plan has no line that begins with “Goal:”.")
    if not steps:
        raise Unreadable("The plan has no step: write each as a line like “1. Read the file”.")
    before = {_words(step.text): step for step in known}
    return Draft(goal, tuple(before.get(_words(step)) or step for step in steps), "\n".join(notes).strip())


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _words(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def short(text: str, length: int = 80) -> str:
    """The text on one line, cut at `length` characters."""
    line = _one_line(visible(text))
    return line if len(line) <= length else f"{line[: length - 1]}…"
