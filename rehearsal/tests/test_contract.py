"""The model follows the contract: a rule for each task, only sections that are sent, replies that match the schemas."""

import ast
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rehearsal.rules import TASKS
from rehearsal.tests.contract import CONTRACT, reply_to

TABLES = [{"name": "orders", "columns": [{"name": "status", "type": "TEXT", "samples": ["pending"]}]}]
ORDER = '{"order_id": "#W1234567", "status": "pending", "items": []}'
PROMPTS: list[tuple[str, dict[str, Any]]] = [
    ("text_plan", {"request": "Write FizzBuzz"}),
    ("text_plan", {"request": "hello"}),
    ("code", {"request": "Write FizzBuzz", "plan": "Goal: Write FizzBuzz in Python.\n1. Print"}),
    ("code", {"request": "Drive a robot"}),
    ("tests", {"request": "Write FizzBuzz"}),
    ("verdict", {"request": "Write FizzBuzz", "run": "1.1 run_code {}\nexit code 0\n1"}),
    ("turn", {"request": "hello", "tools": "", "turn": "1 of 20"}),
    ("turn_verdict", {"request": "Cancel it", "sub_goal": "Cancel", "actions": ""}),
    ("answer", {"request": "Cancel it"}),
    ("path", {"request": "hello"}),
    ("classify_prompt", {"request": "How many orders are pending?", "tables": "orders"}),
    ("rewrite_prompt", {"request": "How many orders are pending?"}),
    ("get_relevant_tables", {"question": "How many orders are pending?", "tables": TABLES}),
    ("trim_relevant_tables", {"question": "How many orders are pending?", "tables": TABLES}),
    ("generate_sql", {"question": "How many orders are pending?", "dialect": "sqlite", "tables": TABLES}),
    ("format_final_response", {"question": "How many?", "columns": '["n"]', "rows": "[7]", "row_count": "1"}),
    ("general_questions", {"request": "hello", "tables": "orders"}),
    ("complaint_triage.classify_complaint", {"request": "My lamp #W1234567 is broken"}),
    ("complaint_triage.assess", {"request": "It is late", "category": "late", "order": ORDER}),
    ("complaint_triage.write_reply", {"request": "It is late", "order_id": "#W1234567", "user_id": "ann"}),
]


def test_there_is_a_rule_for_each_task_and_no_other() -> None:
    assert TASKS.keys() == CONTRACT.keys()


def test_every_section_read_is_in_the_contract() -> None:
    known = {section for entry in CONTRACT.values() for section in entry["sections"]}
    sources = [path for path in Path(__file__).parents[1].rglob("*.py") if "tests" not in path.parts]
    assert {f"{path.name}: {tag}" for path in sources for tag in tags(path) if tag not in known} == set()


def tags(path: Path) -> set[str]:
    """The constants in `prompt["tag"]`, `prompt.lines("tag")` and `prompt.objects("tag")`."""
    tags_read = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Subscript(value=ast.Name(id="prompt"), slice=ast.Constant(value=str(tag))):
                tags_read.add(tag)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="prompt"), attr="lines" | "objects"),
                args=[ast.Constant(value=str(tag))],
            ):
                tags_read.add(tag)
    return tags_read


@pytest.mark.parametrize(("task", "sections"), PROMPTS, ids=[task for task, _ in PROMPTS])
def test_replies_match_the_contracts_schemas(task: str, sections: dict[str, Any]) -> None:
    jsonschema.validate({"reply": reply_to(task, **sections)}, CONTRACT[task]["reply"])
