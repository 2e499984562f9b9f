"""Renders a plan as Markdown, for people and for prompts. Pure."""

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
