"""The rehearsal model drafts test tasks from a brief. They are valid, and the model can solve them."""

import json
from functools import cache
from typing import Any

import pytest

from packs.retail.tasks.outputs import is_answered
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import KINDS, Scenario, ScenarioDeck
from packs.retail.tasks.validate import validate
from services.generator.agentflow import TaskDraft
from tests.support.retail_play import expected, model, play
from tests.support.store import STORE

COUNT = 3 * len(KINDS)


@cache
def shop() -> Shop:
    return Shop(STORE)


@cache
def deck() -> ScenarioDeck:
    return ScenarioDeck(shop().data, 11, size=COUNT)


def draft(scenario: Scenario) -> dict[str, Any]:
    knowledge = [f"# brief\n{json.dumps(scenario.as_json(), ensure_ascii=False)}"]
    reply = model("generator", "task", {"rules": ["one"], "knowledge": knowledge, "request": "Make a test task."})
    return TaskDraft.model_validate(reply).model_dump()


@pytest.mark.parametrize("number", range(COUNT))
def test_a_draft_is_valid_and_can_be_solved(number: int) -> None:
    task = draft(deck()[number])
    report = validate({part: task[part] for part in ("q", "agt", "ogt")}, shop())
    assert report.wrong == ()
    solution = play(task["q"], shop(), [f"I have told you all I know. {task['q']}"] * 3)
    assert solution.changed == expected(task["agt"], shop())
    assert all(is_answered(output, solution.answer) for output in task["ogt"])


def test_drafts_differ_by_brief_and_are_deterministic() -> None:
    texts = [draft(deck()[number])["q"] for number in range(COUNT)]
    assert len(set(texts)) == COUNT
    assert texts[0] == draft(deck()[0])["q"]


def test_a_missing_brief_is_reported() -> None:
    task = model("generator", "task", {"knowledge": ["# other\nnothing"], "request": "Make a test task."})
    assert (task["agt"], task["ogt"], task["confidence"]) == ([], [], 0.0)
    assert "brief" in task["reasoning"]
