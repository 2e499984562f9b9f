"""Checks the steps of an execution plan, whatever their tools are: ids, dependencies, references, size. Pure."""

from collections.abc import Iterator, Sequence

from parley.events.hashing import canonical_size
from parley.events.values import Step
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.state import plan_content
from shared.domain.steps.plan_steps import required_steps, step_label
from shared.domain.steps.references import ITEM, malformed_references, references

MAX_STEPS = 100  # of a plan
MAX_PLAN_BYTES = 200_000  # bytes of a plan as canonical JSON


def refusal(steps: Sequence[Step], wrong: Sequence[str]) -> Invalid:
    """One refusal with all problems, grouped by step id; the key "" holds those of no single step."""
    of: dict[str, list[str]] = {}
    names = {step_label(number, step): step.id for number, step in enumerate(steps, 1) if step.id}
    for text in wrong:
        name = next((name for name in names if text.startswith(name)), "")
        of.setdefault(names.get(name, ""), []).append(text.removeprefix(name).lstrip(":, "))
    return Invalid(" ".join(wrong), of)


def plan_problems(steps: Sequence[Step], goal: str = "", notes: str = "") -> tuple[str, ...]:
    """Why these steps cannot run as a plan, whatever their tools are, one sentence each; empty if they can."""
    names = [step.id for step in steps if step.id]
    problems = [*_size_problems(steps, goal, notes)]
    problems += [f"Step {number} has no id." for number, step in enumerate(steps, 1) if not step.id]
    problems += [f"Two steps have the id {name}." for name in dict.fromkeys(names) if names.count(name) > 1]
    for number, step in enumerate(steps, 1):
        which = step_label(number, step)
        if not step.tool:
            problems.append(f"{which} names no tool.")
        problems += [
            f"{which} depends on {need}, which is not a step of the plan."
            for need in required_steps(step)
            if need not in names
        ]
        problems += [
            f"{which} has {text[:80]}, which is not a reference." for text in malformed_references(step.arguments)
        ]
        problems += [f"{which} {problem}" for problem in _for_each_problems(step)]
    return (*problems, *(() if problems else _cycle_problem(steps)))


def _size_problems(steps: Sequence[Step], goal: str, notes: str) -> Iterator[str]:
    if len(steps) > MAX_STEPS:
        instead = "split it into two plans, or use one step for each item of a list."
        yield f"The plan has {len(steps)} steps; the limit is {MAX_STEPS}: {instead}"
    if (size := canonical_size(plan_content(goal, tuple(steps), notes))) > MAX_PLAN_BYTES:
        instead = "keep long texts in session files, or split it into two plans."
        yield f"The plan has {size:,} bytes; the limit is {MAX_PLAN_BYTES:,}: {instead}"


def _for_each_problems(step: Step) -> Iterator[str]:
    list_ = references(step.for_each)
    if step.for_each is None:
        if any(reference.step == ITEM for reference in references(step.arguments)):
            yield "refers to an item, but does not say for each item of which list it is done."
    elif len(list_) != 1 or list_[0].step == ITEM or step.for_each.strip() != list_[0].text:
        yield f"is done for each item of {step.for_each[:80]}, which is not a reference to a list of an earlier step."
    elif step.waits_for:
        yield "waits, and cannot be done for each item of a list."


def _cycle_problem(steps: Sequence[Step]) -> tuple[str, ...]:
    remaining = {step.id: set(required_steps(step)) for step in steps}
    places = [f"{number} ({step.id})" for number, step in enumerate(steps, 1)]
    while free := [name for name, needed in remaining.items() if not needed & remaining.keys()]:
        for name in free:
            del remaining[name]
    stuck = [place for place, step in zip(places, steps, strict=True) if step.id in remaining]
    if len(stuck) == 1:
        return (f"Step {stuck[0]} waits for itself.",)
    return (f"Steps {', '.join(stuck)} wait for each other.",) if stuck else ()
