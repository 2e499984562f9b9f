"""Hashes that approvals are bound to: equal for the same content in every language, different otherwise."""

import hashlib
from collections.abc import Callable

import pytest
import rfc8785
from pydantic import JsonValue

from parley.events.hashing import canonical_hash
from parley.events.values import ActionSpec, PathPlan, Step
from shared.domain.kernel.state import Action, Code, Plan

STEPS = (
    Step(text="Find the order", tool="find_order", arguments={"id": 12345678901234567890, "open": True}, effect="read"),
    Step(text="Cancel it — “now”", tool="cancel_order", arguments={"z": 1.50, "a": None}, effect="irreversible"),
)
PLAN = Plan(2, 1, "path", "Cancel order W1", STEPS, "Ask first.", "planner", path=PathPlan(nodes=("f.a", "f.b")))
VALUES: JsonValue = {"b": [1, 2.5, 1e21, -0.0], "a": "\u20ac"}
ACTION = ActionSpec(id="1.1", tool="cancel_order", arguments={"order_id": "#W1", "n": 2**60}, effect="write")


def code(text: str) -> Code:
    return Code(4, 1, 2, text, "", "generator")


@pytest.mark.parametrize(
    ("compute", "golden"),
    [
        (lambda: PLAN.hash, "106cc89fd4a42f1034925d5a6cbf0e6bd9456b5a3b2d1d01eb80e036649cd80e"),
        (lambda: Action(ACTION).hash, "85a17fe09137b04eb735e0486fe3a07a922fa4c0704d4d40ae048c92f7091965"),
        (lambda: code('print("é")\n').hash, "0894d92d70e8625679ac12221a7f6f95b70129ec441a92b66f7ff6f03eb645ed"),
        (lambda: canonical_hash(VALUES), "cb63697ae6f868b7d66e5a9075e1fdb3112140d40b755370134f5c02a12a3c7f"),
    ],
)
def test_hashes_equal_known_values(compute: Callable[[], str], golden: str) -> None:
    """Each known value is the output of `sha256sum` for canonical JSON that was written by hand."""
    assert compute() == golden


def test_the_hash_of_an_action_covers_everything_that_runs() -> None:
    same = Action(ACTION.model_copy(update={"id": "7.3", "description": "other words", "approval_reason": "it writes"}))
    assert same.hash == Action(ACTION).hash
    changes: tuple[dict[str, object], ...] = ({"tool": "other"}, {"arguments": {}}, {"effect": "irreversible"})
    changed = {Action(ACTION.model_copy(update=change)).hash for change in changes}
    assert len(changed | {Action(ACTION).hash}) == len(changes) + 1


def test_the_hash_of_a_plan_covers_all_its_parts() -> None:
    first, second = STEPS
    changed: tuple[tuple[Step, ...], ...] = (
        (second, first),
        (first,),
        *((first.model_copy(update=change), second) for change in ({"text": "x"}, {"tool": "x"}, {"effect": None})),
        (first.model_copy(update={"arguments": {"id": 12345678901234567891, "open": True}}), second),
    )
    plans = [Plan(2, 1, "path", PLAN.goal, steps, PLAN.notes, "planner", path=PLAN.path) for steps in changed]
    plans += [
        Plan(2, 1, "path", "Other", STEPS, PLAN.notes, "planner", path=PLAN.path),
        Plan(2, 1, "path", PLAN.goal, STEPS, "", "planner", path=PLAN.path),
        Plan(2, 1, "path", PLAN.goal, STEPS, PLAN.notes, "planner", path=PathPlan(nodes=("f.a",))),
        Plan(2, 1, "path", PLAN.goal, STEPS, PLAN.notes, "planner"),
    ]
    assert len({plan.hash for plan in (PLAN, *plans)}) == len(plans) + 1


def test_a_text_step_never_hashes_like_a_tool_call() -> None:
    call = Step(text="Cancel it", tool="cancel_order", arguments={"id": 1})
    as_call = Plan(2, 1, "path", "g", (call,), "", "planner")
    as_text = Plan(2, 1, "path", "g", (Step(text="Cancel it — `cancel_order(id=1)`"),), "", "planner")
    assert as_call.text == as_text.text
    assert as_call.hash != as_text.hash


@pytest.mark.parametrize(
    "values",
    [
        (2**53 - 1, 2**53, 2**53 + 1, -(2**53), str(2**53)),
        (10**20, 1e20, 10**21, 1e21),
        (float("nan"), float("inf"), float("-inf"), "nan", None),
        (2**60, {"$number": str(2**60)}, {"$$number": str(2**60)}, {"$$$number": str(2**60)}, {"number": str(2**60)}),
        (True, 1, "1", [1], {"1": 1}),
    ],
)
def test_unusual_values_have_distinct_hashes(values: tuple[JsonValue, ...]) -> None:
    assert len({canonical_hash({"x": value}) for value in values}) == len(values)


def test_the_order_of_keys_does_not_change_the_hash() -> None:
    assert canonical_hash({"a": {"x": 1, "y": 2}, "b": 0}) == canonical_hash({"b": 0, "a": {"y": 2, "x": 1}})


def test_a_string_is_encoded_as_rfc8785_does() -> None:
    text = "".join(map(chr, range(0x3000))) + "\U0001f600"
    assert canonical_hash(text) == hashlib.sha256(rfc8785.dumps(text)).hexdigest()
