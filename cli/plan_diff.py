"""The difference between two versions of an execution plan, as lines of text. Pure."""

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
    """The author of this version, and the feedback that led to it."""
    is_user = version.by.startswith("user:")
    author = REVIEW["author_person" if is_user else "author"].format(by=version.by.removeprefix("user:"))
    reason = f": “{' '.join(version.reason.split())}”" if version.reason else ""
    return f"Version {version.version}. {author}{reason}"


def change_lines(difference: PlanDifference) -> Iterator[str]:
    """One line per step, and below it the fields that differ."""
    for change in difference.steps:
        step = change.after or change.before
        if step is None:
            continue
        number = change.new or change.old
        yield f"{_word(change):<10} {number}. {step.text}  {step.tool or ''}".rstrip()
        if change.kind == "changed" and change.before and change.after:
            yield from _field_changes(change.before, change.after)


def _word(change: ChangedStep) -> str:
    done = change.status == "finished" and change.kind in ("same", "moved")
    return REVIEW["step_done"] if done else WORDS.get(change.kind, change.kind)


def _field_changes(before: Step, after: Step) -> Iterator[str]:
    old, new = (step.model_dump(exclude={"id"}, exclude_none=True) for step in (before, after))
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield f"             {name}: {old.get(name)} → {new.get(name)}"
