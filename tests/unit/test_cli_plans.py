"""What a person types in a terminal about plans, and what a terminal says of two versions of one."""

import pytest

from cli.chat.slash import COMMANDS
from cli.chat.state import View
from cli.given_output import read_output
from cli.plan_diff import changes
from parley.events.values import Step
from parley.protocol.execution_plans import ChangedStep, PlanDifference


def test_an_output_is_json_or_else_text() -> None:
    typed = ('{"a": [1, null]}', " [1] ", "12", "false", '"12"', "as I remember it", "#W1 {x}")
    assert [read_output(one) for one in typed] == [
        {"a": [1, None]},
        [1],
        12,
        False,
        "12",
        "as I remember it",
        "#W1 {x}",
    ]


@pytest.mark.parametrize("typed", ['{"a": ', "[1", '"open', "", "  ", "null"])
def test_what_is_no_output_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Write the output|null"):
        read_output(typed)


def test_the_chat_skips_with_dependents_or_with_an_output() -> None:
    skip = COMMANDS["skip"].do
    for typed, sent in (
        ("t2.s1", {}),
        ("t2.s1 with-dependents", {"with_dependents": True}),
        ('t2.s1 {"a": 1}', {"output": {"a": 1}}),
        ("t2.s1 as I know it", {"output": "as I know it"}),
    ):
        told = skip(View(), typed)
        assert told.message.model_dump(exclude_defaults=True) == {"type": "skip", "action_id": "t2.s1"} | sent  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="null"):
        skip(View(), "t2.s1 null")


def test_a_difference_has_a_line_a_step_and_what_differs() -> None:
    old = Step(id="s1", text="Look", tool="look", arguments={"x": 1})
    new = old.model_copy(update={"arguments": {"x": 2}})
    changed = ChangedStep(kind="changed", old=1, new=2, before=old, after=new, status="planned")
    moved = ChangedStep(kind="moved", old=2, new=1, before=old, after=old, status="finished")
    lines = list(changes(PlanDifference(old=2, new=3, steps=(moved, changed), unified="")))
    assert lines == [
        "done       1. Look  look",
        "changed    2. Look  look",
        "             arguments: {'x': 1} → {'x': 2}",
    ]
