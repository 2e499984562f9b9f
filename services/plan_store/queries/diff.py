"""The difference between two versions of a plan: as a unified diff, and step by step."""

import difflib
from collections.abc import Iterator, Sequence
from itertools import takewhile

from parley.events.values import Step
from shared.store_api import PlanDiff, PlanOrigin, PlanRecord, StepChange

MIN_SIMILARITY = 0.5  # from this similarity on a step counts as changed, below it as replaced
MAX_COMPARED = 500  # characters of a step
MAX_LINES = 2_000  # of a text: difflib takes quadratic time, at worst about 40 ms for this many
CONTEXT_LINES = 3  # unchanged lines around a change


def diff(old: PlanRecord, new: PlanRecord) -> PlanDiff:
    """The difference between two versions, line by line unless a text has more than `MAX_LINES` lines."""
    before, after = old.text.splitlines(), new.text.splitlines()
    coarse = max(len(before), len(after)) > MAX_LINES
    names = f"version {old.version}", f"version {new.version}"
    lines = _coarse(before, after, *names) if coarse else difflib.unified_diff(before, after, *names, lineterm="")
    steps = tuple(compare(old.steps, new.steps))
    origins = tuple(PlanOrigin(**record.model_dump(include=set(PlanOrigin.model_fields))) for record in (old, new))
    unified = "\n".join(lines)
    return PlanDiff(old=old.version, new=new.version, unified=unified, steps=steps, coarse=coarse, origins=origins)


def _coarse(before: Sequence[str], after: Sequence[str], old: str, new: str) -> list[str]:
    """A unified diff with one hunk from the first changed line to the last. Takes linear time."""
    if before == after:
        return []
    head = _common_prefix(before, after)
    tail = min(_common_prefix(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    start, leading, trailing = max(head - CONTEXT_LINES, 0), min(head, CONTEXT_LINES), min(tail, CONTEXT_LINES)
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    around = leading + trailing
    return [
        f"--- {old}",
        f"+++ {new}",
        f"@@ -{start + 1},{len(removed) + around} +{start + 1},{len(added) + around} @@",
        *(f" {line}" for line in before[start:head]),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in before[len(before) - tail : len(before) - tail + trailing]),
    ]


def _common_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """The number of equal lines at the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def compare(old: tuple[Step, ...], new: tuple[Step, ...]) -> Iterator[StepChange]:
    """One change per step of either plan: in the new plan's order, removed steps before the step that followed them."""
    before, after = [step.model_dump_json() for step in old], [step.model_dump_json() for step in new]
    old_index = _match_by_id(old, new) if _have_ids(old, new) else _match_steps(old, new, before, after)
    unchanged = _unchanged(before, after)
    removals = iter(sorted(set(range(len(old))) - set(old_index.values())))
    removed = next(removals, None)
    for j, step in enumerate(new):
        i = old_index.get(j)
        while removed is not None and i is not None and removed < i:
            yield StepChange(kind="removed", old=removed + 1, new=None, before=old[removed], after=None)
            removed = next(removals, None)
        if i is None:
            yield StepChange(kind="added", old=None, new=j + 1, before=None, after=step)
        elif before[i] != after[j]:
            yield StepChange(kind="changed", old=i + 1, new=j + 1, before=old[i], after=step)
        else:
            kind = "same" if (i, j) in unchanged else "moved"
            yield StepChange.model_validate({"kind": kind, "old": i + 1, "new": j + 1, "before": old[i], "after": step})
    while removed is not None:
        yield StepChange(kind="removed", old=removed + 1, new=None, before=old[removed], after=None)
        removed = next(removals, None)


def _have_ids(*plans: tuple[Step, ...]) -> bool:
    """Whether every step has an id. A step keeps its id in all versions of a plan."""
    return all(step.id for steps in plans for step in steps)


def _match_by_id(old: tuple[Step, ...], new: tuple[Step, ...]) -> dict[int, int]:
    """New step index to the index of the old step with the same id."""
    places = {step.id: i for i, step in enumerate(old)}
    return {j: places[step.id] for j, step in enumerate(new) if step.id in places}


def _unchanged(before: list[str], after: list[str]) -> set[tuple[int, int]]:
    """Index pairs of equal steps in the same order on both sides: about a longest common subsequence."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return {(block.a + k, block.b + k) for block in blocks for k in range(block.size)}


def _match_steps(old: tuple[Step, ...], new: tuple[Step, ...], before: list[str], after: list[str]) -> dict[int, int]:
    """New step index to old step index: equal steps in order first, then equal ones, then similar ones."""
    matches = {j: i for i, j in _unchanged(before, after)}
    left = [i for i in range(len(old)) if i not in matches.values()]
    for j in range(len(new)):
        if j not in matches and (i := next((i for i in left if before[i] == after[j]), None)) is not None:
            matches[j] = i
            left.remove(i)
    old_bigrams = {i: _bigrams(old[i]) for i in left}
    for j in range(len(new)):
        if j in matches or not left:
            continue
        bigrams = _bigrams(new[j])
        similarity, place = max((_similarity(old_bigrams[i], bigrams), -i) for i in left)
        if similarity >= MIN_SIMILARITY:
            matches[j] = -place
            left.remove(-place)
    return matches


def _bigrams(step: Step) -> set[str]:
    """The pairs of adjacent characters: a cheap measure of similarity for any language."""
    text = step.text[:MAX_COMPARED].casefold()
    return {text[k : k + 2] for k in range(len(text))}


def _similarity(first: set[str], second: set[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second))
