"""Renders a plan, or what is offered, as Markdown, for people and for prompts. Pure."""

import json
from typing import assert_never

from parley.events.offers import OfferedCode, OfferedDraft, OfferedPlan, OfferedTurn
from parley.events.values import Step


def plan_text(goal: str, steps: tuple[Step, ...], notes: str = "") -> str:
    """The plan as Markdown."""
    lines = [f"Goal: {goal}", "", *(f"{number}. {_step(step)}" for number, step in enumerate(steps, 1))]
    return "\n".join([*lines, "", f"Notes: {notes}"] if notes else lines)


def _step(step: Step) -> str:
    if step.tool is None:
        return step.text
    arguments = ", ".join(f"{name}={value!r}" for name, value in (step.arguments or {}).items())
    each = f" for each of {step.for_each}" if step.for_each else ""
    return f"{step.text} — `{step.tool}({arguments})`{each}"


def draft_text(draft: OfferedDraft) -> str:
    """What is offered: the plan, the program, or the calls of the turn."""
    match draft:
        case OfferedPlan():
            return plan_text(draft.goal, draft.steps, draft.notes)
        case OfferedCode():
            return "\n\n".join(filter(None, (draft.explanation, draft.code)))
        case OfferedTurn():
            calls = (f"- {spec.tool} {json.dumps(spec.arguments, ensure_ascii=False)}" for spec in draft.actions)
            return "\n".join((draft.sub_goal, *calls))
    assert_never(draft)
