"""What changed between two versions of a plan: as text, and step by step."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import takewhile

from parley.events.values import Step
from shared.store_api import PlanDiff, PlanOrigin, PlanRecord, StepChange

ALIKE = 0.5  # from here on a step was changed, below it was replaced
COMPARED = 500  # characters of a step
MAX_LINES = 2_000  # of a text: difflib takes quadratic time, some 40 ms for these at the worst
CONTEXT = 3  # unchanged lines around a change


def diff(old: PlanRecord, new: PlanRecord) -> PlanDiff:
    """The difference, line by line unless a text has more than `MAX_LINES` lines."""
    before, after = old.text.splitlines(), new.text.splitlines()
    coarse = max(len(before), len(after)) > MAX_LINES
    names = f"version {old.version}", f"version {new.version}"
    lines = _coarse(before, after, *names) if coarse else difflib.unified_diff(before, after, *names, lineterm="")
    steps = tuple(compare(old.steps, new.steps))
    origins = tuple(PlanOrigin(**one.model_dump(include=set(PlanOrigin.model_fields))) for one in (old, new))
    unified = "\n".join(lines)
    return PlanDiff(old=old.version, new=new.version, unified=unified, steps=steps, coarse=coarse, origins=origins)


def _coarse(before: Sequence[str], after: Sequence[str], old: str, new: str) -> list[str]:
    """A unified diff with one hunk, which replaces everything from the first changed line to the last. Linear time."""
    if before == after:
        return []
    head = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    start, lead, trail = max(head - CONTEXT, 0), min(head, CONTEXT), min(tail, CONTEXT)
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    around = lead + trail
    return [
        f"--- {old}",
        f"+++ {new}",
        f"@@ -{start + 1},{len(removed) + around} +{start + 1},{len(added) + around} @@",
        *(f" {line}" for line in before[start:head]),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in before[len(before) - tail : len(before) - tail + trail]),
    ]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the first lines are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def compare(old: tuple[Step, ...], new: tuple[Step, ...]) -> Iterator[StepChange]:
    """One change for every step of either plan: the new plan's in its order, removed ones before what follows them."""
    before, after = [step.model_dump_json() for step in old], [step.model_dump_json() for step in new]
    from_ = _by_id(old, new) if _have_ids(old, new) else _origins(old, new, before, after)
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


def _have_ids(*plans: tuple[Step, ...]) -> bool:
    """Whether every step has an id, which it keeps in all versions of its plan."""
    return all(step.id for steps in plans for step in steps)


def _by_id(old: tuple[Step, ...], new: tuple[Step, ...]) -> dict[int, int]:
    """For steps of the new plan: which old one has their id."""
    places = {step.id: i for i, step in enumerate(old)}
    return {j: places[step.id] for j, step in enumerate(new) if step.id in places}


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
