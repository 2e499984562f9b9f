"""An execution plan in a terminal of eighty columns: references in words, and each step's status at the right edge."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cli.chat.forms import form_answer, form_fields
from cli.talk.plan_rendering import align_columns, plan_text
from parley.protocol.execution_plans import ExecutionPlan, PlanStep

ADDRESS: dict[str, Any] = {
    "type": "object",
    "required": ["city"],
    "properties": {
        "city": {"type": "string", "description": "Where to"},
        "carrier": {"enum": ["UPS", "DHL"]},
        "gift": True,
    },
}


def step(number: int, text: str, tool: str = "look", status: str = "planned", **more: Any) -> PlanStep:
    fields: dict[str, Any] = {"parameters": {}, "after": (), "effect": "read", "attempt": 1, "output": None}
    values = {"error": "", "seconds": 0.0, **fields, **more}
    return PlanStep(id=f"s{number}", number=number, tool=tool, description=text, status=status, **values)


def plan(*steps: PlanStep, **more: Any) -> ExecutionPlan:
    values: dict[str, Any] = {
        "task_id": "x.t2",
        "session_id": "x",
        "version": 2,
        "number": 1,
        "hash": "h",
        "notes": "",
    }
    values |= {"description": "Look it up", "status": "executing", "user_approved": True, "created_at": None}
    values |= {"updated_at": None, "working": False, "question": "", "problem": "", "result": "", "text": ""}
    return ExecutionPlan(steps=steps, **(values | more))


def test_steps_show_their_calls_and_at_the_right_edge_their_status() -> None:
    first_step = step(1, "Find it", status="finished", parameters={"email": "a@b.c"}, output={"id": 7})
    waits = step(2, "Wait", "wait_until", "waiting", after=("s1",), until=datetime(2026, 1, 2, 3, 4, tzinfo=UTC))
    each = {"for_each": "{{steps.s1.output.order_ids}}", "effect": "irreversible"}
    parameters = {"id": "{{item}}", "note": "to {{steps.s1.output}} now"}
    cancel = step(3, "Cancel each", "cancel", after=("s1", "s2"), parameters=parameters, **each)
    assert plan_text(plan(first_step, waits, cancel), 80).splitlines() == [
        "Look it up",
        "executing · version 2 · 3 steps",
        "",
        f" 1. Find it{'done':>69}",
        '    look(email="a@b.c")',
        '    → {"id": 7}',
        "",
        f" 2. Wait{'scheduled':>72}",
        "    wait_until()",
        "    after 1 · until 2026-01-02 03:04 UTC",
        "",
        " 3. Cancel each",
        '    cancel(id=[each item], note="to [result of step 1] now")',
        "    for each of [order ids of step 1] · after 1, 2 · changes data and cannot be",
        "    undone",
    ]


def test_no_line_is_wider_than_the_terminal_and_programs_keep_their_lines() -> None:
    long = "a long description " * 10
    code = "import json\n\n" + "print(1)\n" * 20
    failed = step(1, long, "run", "failed", parameters={"code": code, "text": long}, error=long, output=long)
    lines = plan_text(plan(failed, notes=long, description=long), 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert "        import json" in lines
    assert "        … 10 more lines" in lines
    assert next(line for line in lines if line.startswith(" 1. ")).endswith("failed")


def test_an_undrafted_plan_has_no_steps() -> None:
    assert plan_text(plan(version=None, status="draft"), 80) == "Look it up\ndraft"


@pytest.mark.parametrize(
    ("columns", "last"),
    [(34, "a        completed  Some words th…"), (None, "a        completed  Some words that are long")],
)
def test_rows_are_aligned_and_only_the_last_cell_is_cut(columns: int | None, last: str) -> None:
    rows = [("long-id", "new", "x"), ("a", "completed", "Some  words\nthat are long")]
    assert list(align_columns(rows, columns)) == ["long-id  new        x", last]
    assert list(align_columns([], 80)) == []


def test_a_form_is_answered_by_pairs_or_json() -> None:
    city, carrier, gift = form_fields(ADDRESS)
    assert (city.required, city.description, carrier.allowed, gift.name) == (True, "Where to", ("UPS", "DHL"), "gift")
    fields = form_fields(ADDRESS)
    assert form_answer('city="New York" carrier=UPS', fields) == '{"city": "New York", "carrier": "UPS"}'
    for text in ('{"city": "Oslo"}', "Oslo", "street=1", 'city="open', ""):
        assert form_answer(text, fields) == text
    assert form_fields({"kind": "tables", "tables": []}) == form_fields(None) == ()
