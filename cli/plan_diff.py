"""The difference of two versions of an execution plan as a terminal tells it, a line a step. Pure."""

from collections.abc import Iterator

from parley.events.values import Step
from parley.protocol.execution_plans import ChangedStep, PlanDifference, PlanVersion
from parley.protocol.words import REVIEW

WORDS = {
    "same": REVIEW["step_same"],
    "changed": REVIEW["step_changed"],
    "moved": REVIEW["step_in_new_place"],
    "added": REVIEW["step_new"],
    "removed": REVIEW["step_removed"],
}


def origin(version: PlanVersion) -> str:
    """Who made this version, and the words that led to it."""
    person = version.by.startswith("user:")
    author = REVIEW["author_person" if person else "author"].format(by=version.by.removeprefix("user:"))
    why = f": “{' '.join(version.reason.split())}”" if version.reason else ""
    return f"Version {version.version}. {author}{why}"


def changes(difference: PlanDifference) -> Iterator[str]:
    """A line a step, and below it what differs."""
    for change in difference.steps:
        step = change.after or change.before
        if step is None:
            continue
        number = change.new or change.old
        yield f"{_word(change):<10} {number}. {step.text}  {step.tool or ''}".rstrip()
        if change.kind == "changed" and change.before and change.after:
            yield from _differing(change.before, change.after)


def _word(change: ChangedStep) -> str:
    done = change.status == "finished" and change.kind in ("same", "moved")
    return REVIEW["step_done"] if done else WORDS.get(change.kind, change.kind)


def _differing(before: Step, after: Step) -> Iterator[str]:
    was, now = (step.model_dump(exclude={"id"}, exclude_none=True) for step in (before, after))
    for name in dict.fromkeys((*was, *now)):
        if was.get(name) != now.get(name):
            yield f"             {name}: {was.get(name)} → {now.get(name)}"
