"""What changed between two versions of a plan: as text, and step by step."""

import difflib
from collections.abc import Iterator

from shared.events.values import Step
from shared.store_api import PlanDiff, PlanRecord, StepChange

ALIKE = 0.5  # from here on a step was changed, below it was replaced
COMPARED = 500  # characters of a step


def diff(old: PlanRecord, new: PlanRecord) -> PlanDiff:
    lines = difflib.unified_diff(
        old.text.splitlines(), new.text.splitlines(), f"version {old.version}", f"version {new.version}", lineterm=""
    )
    steps = tuple(compare(old.steps, new.steps))
    return PlanDiff(old=old.version, new=new.version, unified="\n".join(lines), steps=steps)


def compare(old: tuple[Step, ...], new: tuple[Step, ...]) -> Iterator[StepChange]:
    """One change for every step of either plan: the new plan's in its order, removed ones before what follows them."""
    before, after = [step.model_dump_json() for step in old], [step.model_dump_json() for step in new]
    from_ = _origins(old, new, before, after)
    unchanged = _unchanged(before, after)
    gone = iter(sorted(set(range(len(old))) - set(from_.values())))
    removed = next(gone, None)
    for j, step in enumerate(new):
        i = from_.get(j)
        while removed is not None and i is not None and removed < i:
            yield StepChange(kind="removed", old=removed + 1, new=None, before=old[removed], after=None)
            removed = next(gone, None)
        if i is None:
            yield StepChange(kind="added", old=None, new=j + 1, before=None, after=step)
        elif before[i] != after[j]:
            yield StepChange(kind="changed", old=i + 1, new=j + 1, before=old[i], after=step)
        else:
            kind = "same" if (i, j) in unchanged else "moved"
            yield StepChange.model_validate({"kind": kind, "old": i + 1, "new": j + 1, "before": old[i], "after": step})
    while removed is not None:
        yield StepChange(kind="removed", old=removed + 1, new=None, before=old[removed], after=None)
        removed = next(gone, None)


def _unchanged(before: list[str], after: list[str]) -> set[tuple[int, int]]:
    """Pairs of equal steps in the same order on both sides: a longest common subsequence, more or less."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return {(block.a + k, block.b + k) for block in blocks for k in range(block.size)}


def _origins(old: tuple[Step, ...], new: tuple[Step, ...], before: list[str], after: list[str]) -> dict[int, int]:
    """For steps of the new plan: which old one they come from. Equal in place, equal elsewhere, then alike."""
    found = {j: i for i, j in _unchanged(before, after)}
    left = [i for i in range(len(old)) if i not in found.values()]
    for j in range(len(new)):
        if j not in found and (i := next((i for i in left if before[i] == after[j]), None)) is not None:
            found[j] = i
            left.remove(i)
    pairs = {i: _pairs(old[i]) for i in left}
    for j in range(len(new)):
        if j in found or not left:
            continue
        mine = _pairs(new[j])
        likeness, place = max((_alike(pairs[i], mine), -i) for i in left)
        if likeness >= ALIKE:
            found[j] = -place
            left.remove(-place)
    return found


def _pairs(step: Step) -> set[str]:
    """Its pairs of neighbouring characters: enough to tell likeness in any language, and cheap."""
    text = step.text[:COMPARED].casefold()
    return {text[k : k + 2] for k in range(len(text))}


def _alike(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other))
