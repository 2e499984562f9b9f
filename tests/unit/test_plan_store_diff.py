"""Plans compared step by step."""

import pytest

from services.plan_store.diff import compare
from shared.events.values import Step


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
def test_every_step_of_both_plans_is_told_once(
    old: tuple[str, ...], new: tuple[str, ...], expected: list[tuple[str, int | None, int | None]]
) -> None:
    found = list(compare(steps(*old), steps(*new)))
    assert [(change.kind, change.old, change.new) for change in found] == expected
    assert sorted(change.old for change in found if change.old) == list(range(1, len(old) + 1))
    assert [change.new for change in found if change.new] == list(range(1, len(new) + 1))


def test_other_arguments_are_a_change_too() -> None:
    old = (Step(text="Look", tool="sql", arguments={"q": 1}),)
    new = (Step(text="Look", tool="sql", arguments={"q": 2}),)
    (change,) = compare(old, new)
    assert (change.kind, change.before, change.after) == ("changed", old[0], new[0])


def test_two_plans_of_a_hundred_long_steps_are_compared_at_once() -> None:
    old = steps(*(f"{n} " + "abc " * 490 for n in range(100)))
    new = steps(*(f"{n} " + "xyz " * 490 for n in range(100, 200)))
    assert len(list(compare(old, new))) == 200
