"""What the user types about plans, and how lists and the difference between two versions are shown."""

import pytest

from cli.chat.slash import COMMANDS
from cli.chat.state import ChatView
from cli.talk.plan_rendering import align_columns, change_lines
from cli.talk.plans import parse_output
from parley.events.values import Step
from parley.protocol.execution_plans import ChangedStep, PlanDifference


def test_an_output_is_json_or_else_text() -> None:
    typed = ('{"a": [1, null]}', " [1] ", "12", "false", '"12"', "as I remember it", "#W1 {x}")
    assert [parse_output(text) for text in typed] == [
        {"a": [1, None]},
        [1],
        12,
        False,
        "12",
        "as I remember it",
        "#W1 {x}",
    ]


@pytest.mark.parametrize("typed", ['{"a": ', "[1", '"open', "", "  ", "null"])
def test_an_invalid_output_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Write the output|null"):
        parse_output(typed)


def test_the_chat_skips_with_dependents_or_with_an_output() -> None:
    skip = COMMANDS["skip"].effect
    for typed, sent in (
        ("t2.s1", {}),
        ("t2.s1 with-dependents", {"with_dependents": True}),
        ('t2.s1 {"a": 1}', {"output": {"a": 1}}),
        ("t2.s1 as I know it", {"output": "as I know it"}),
    ):
        effect = skip(ChatView(), typed)
        assert effect.message.model_dump(exclude_defaults=True) == {"type": "skip", "action_id": "t2.s1"} | sent  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="null"):
        skip(ChatView(), "t2.s1 null")


def test_a_difference_has_one_line_per_step_and_the_changed_fields() -> None:
    old = Step(id="s1", text="Look", tool="look", arguments={"x": 1})
    new = old.model_copy(update={"arguments": {"x": 2}})
    changed = ChangedStep(kind="changed", old=1, new=2, before=old, after=new, status="planned")
    moved = ChangedStep(kind="moved", old=2, new=1, before=old, after=old, status="finished")
    lines = list(change_lines(PlanDifference(old=2, new=3, steps=(moved, changed), unified="")))
    assert lines == [
        "done       1. Look  look",
        "changed    2. Look  look",
        "             arguments: {'x': 1} → {'x': 2}",
    ]


@pytest.mark.parametrize(
    ("columns", "last"),
    [(34, "a        completed  Some words th…"), (None, "a        completed  Some words that are long")],
)
def test_rows_are_aligned_and_only_the_last_cell_is_cut(columns: int | None, last: str) -> None:
    rows = [("long-id", "new", "x"), ("a", "completed", "Some  words\nthat are long")]
    assert list(align_columns(rows, columns)) == ["long-id  new        x", last]
    assert list(align_columns([], 80)) == []
