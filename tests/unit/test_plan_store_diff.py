"""The difference between two plans, step by step and line by line."""

from datetime import UTC, datetime

import pytest

from parley.events.values import Step
from services.plan_store.queries.plans import MAX_LINES, compare, diff
from shared.store_api import PlanRecord
from tests.support.cpu_time import takes_at_most


def steps(*texts: str) -> tuple[Step, ...]:
    return tuple(Step(text=text) for text in texts)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (("a", "b"), ("a", "b"), [("same", 1, 1), ("same", 2, 2)]),
        (("a", "b"), ("a", "x", "b"), [("same", 1, 1), ("added", None, 2), ("same", 2, 3)]),
        (("a", "x", "b"), ("a", "b"), [("same", 1, 1), ("removed", 2, None), ("same", 3, 2)]),
        (("a", "b"), ("c",), [("added", None, 1), ("removed", 1, None), ("removed", 2, None)]),
        (("a", "b", "c"), ("c", "a", "b"), [("moved", 3, 1), ("same", 1, 2), ("same", 2, 3)]),
        (
            ("Ask for two numbers", "Print the sum"),
            ("Ask for three numbers", "Print the sum"),
            [("changed", 1, 1), ("same", 2, 2)],
        ),
        (
            ("Print the sum", "Ask for two numbers"),
            ("Ask for two whole numbers", "Print the sum"),
            [("changed", 2, 1), ("same", 1, 2)],
        ),
        (("a", "a"), ("a",), [("same", 1, 1), ("removed", 2, None)]),
    ],
)
def test_every_step_of_both_plans_has_one_change(
    old: tuple[str, ...], new: tuple[str, ...], expected: list[tuple[str, int | None, int | None]]
) -> None:
    changes = list(compare(steps(*old), steps(*new)))
    assert [(change.kind, change.old, change.new) for change in changes] == expected
    assert sorted(change.old for change in changes if change.old) == list(range(1, len(old) + 1))
    assert [change.new for change in changes if change.new] == list(range(1, len(new) + 1))


def plan(version: int, lines: list[str]) -> PlanRecord:
    return PlanRecord(
        session_id="s",
        version=version,
        number=version,
        kind="text",
        goal="g",
        steps=steps("a"),
        notes="",
        text="\n".join(lines),
        hash="",
        status="draft",
        by="ann",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        deleted=False,
    )


def test_the_changed_part_of_a_very_long_plan_is_one_hunk() -> None:
    lines = [f"line {number}" for number in range(MAX_LINES + 1)]
    changed = [*lines[:10], "new", *lines[12:20], "newer", *lines[21:]]
    difference = diff(plan(1, lines), plan(2, changed))
    assert difference.coarse
    assert difference.unified.splitlines()[:6] == [
        "--- version 1",
        "+++ version 2",
        "@@ -8,17 +8,16 @@",
        *(f" line {number}" for number in (7, 8, 9)),
    ]
    assert [line for line in difference.unified.splitlines() if line[0] == "+"][1:] == [
        "+new",
        *(f"+line {number}" for number in range(12, 20)),
        "+newer",
    ]
    assert difference.unified.endswith(" line 21\n line 22\n line 23")
    assert diff(plan(1, lines), plan(2, lines)).unified == ""


def test_two_plans_of_very_many_lines_are_compared_quickly() -> None:
    """difflib would take minutes here: each line is too frequent to match by, and too rare to be ignored."""
    lines = [chr(0x4E00 + number % 101) for number in range(80_000)]
    assert diff(plan(1, lines), plan(2, lines[::-1])).coarse
    assert takes_at_most(5, lambda: diff(plan(1, lines), plan(2, lines[::-1])))


def test_steps_with_ids_are_matched_by_id() -> None:
    first, second = (Step(id=f"s{n}", text=f"Look {n} up", tool="look") for n in (1, 2))
    other = first.model_copy(update={"text": "Something else entirely", "arguments": {"x": 1}})
    new = Step(id="s3", text=first.text, tool="look")
    changes = list(compare((first, second), (second, other, new)))
    assert [(change.kind, change.old, change.new) for change in changes] == [
        ("same", 2, 1),
        ("changed", 1, 2),
        ("added", None, 3),
    ]
    assert [change.kind for change in compare((first, second), (second, first))].count("moved") == 1
    assert [change.kind for change in compare((first, second), (second,))] == ["removed", "same"]
