"""Execution plans whose tools have changed, and plans that are too large."""

from typing import Any

import pytest

from parley.events.values import Check, Step, ToolRule
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import outdated_reason
from shared.domain.transcript.forks import carry_over
from tests.unit.domain.spec import approve, given, request
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, FAILURE, LOOK, edited, plan, session_after, status


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (ToolRule(effect="read", fingerprint="b"), "it takes other arguments now"),
        (ToolRule(effect="write", fingerprint="b"), "the plan says that it only reads, and now it can be undone"),
    ],
)
def test_a_step_whose_tool_has_changed_is_denied_until_the_plan_is_edited(tool: ToolRule, words: str) -> None:
    look = LOOK.model_copy(update={"fingerprint": "a"})
    lines = (*DRAFTED, plan(look, CANCEL), approve)
    same = session_after(*lines, c.Start(tools={"get_order": ToolRule(effect="read", fingerprint="a")}))
    assert status(same) == {"t2.s1": "started", "t2.s2": "planned"}
    changed = session_after(*lines, c.Start(tools={"get_order": tool}))
    assert changed.turn
    assert (changed.phase, status(changed)) == ("verifying", {"t2.s1": "denied", "t2.s2": "skipped"})
    why = changed.turn.actions[0].explanation
    assert why.startswith("The tool get_order has changed since this plan was made: ")
    assert words in why
    failed = (*lines, c.Start(tools={"get_order": tool}), *FAILURE)
    again = session_after(*failed, c.Retry(), c.Start(tools={"get_order": tool}))
    assert status(again)["t2.s1"] == "denied"
    updated_steps = (look.model_copy(update={"fingerprint": "b", "effect": tool.effect}), CANCEL)
    saved = session_after(*failed, edited(*updated_steps), approve, c.Start(tools={"get_order": tool}))
    assert status(saved)["t2.s1"] == "started"


def test_a_missing_tool_is_reported_and_an_older_plan_is_not_compared() -> None:
    look = LOOK.model_copy(update={"fingerprint": "a"})
    assert outdated_reason(look, None).startswith("The tool get_order is gone: it was there when this plan was made.")
    assert outdated_reason(LOOK, None) == outdated_reason(LOOK, ToolRule(effect="write", fingerprint="b")) == ""
    assert outdated_reason(look, ToolRule(effect="write")) == ""


def test_a_fork_keeps_the_checks() -> None:
    check = Check(name="references", ok=True)
    look = LOOK.model_copy(update={"fingerprint": "a"})
    tools: Any
    for tools, steps in (((), look), (("get_order",), LOOK)):
        draft = plan(steps).model_copy(update={"checks": (check,)})
        parent = given(request("execution_plan", tools=tools), draft).session
        fork = c.Fork(parent_id="s1", parent_version=parent.version, carried=carry_over(parent))
        forked = given(begin=Session("s2")).when(fork).then("session.forked").session
        assert forked.plan
        assert (forked.plan.checks, forked.plan.steps, forked.settings) == ((check,), (steps,), parent.settings)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([LOOK.model_copy(update={"id": f"n{n}"}) for n in range(101)], "The plan has 101 steps; the limit is 100"),
        ([LOOK.model_copy(update={"arguments": {"order": "ß" * 100_000}})], "bytes; the limit is 200,000"),
    ],
)
def test_a_plan_that_is_too_large_is_refused_with_its_size_and_the_limit(steps: list[Step], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        session_after(*DRAFTED, plan(*steps))
    with pytest.raises(Invalid, match=words):
        session_after(*DRAFTED, plan(LOOK), c.EditPlan(base=2, steps=tuple(steps)))
    most = [LOOK.model_copy(update={"id": f"n{n}"}) for n in range(100)]
    assert session_after(*DRAFTED, plan(*most)).phase == "awaiting_approval"
    assert session_after(*DRAFTED, plan(LOOK.model_copy(update={"arguments": {"order": "x" * 199_000}}))).plan
