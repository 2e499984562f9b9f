"""The rehearsal model drafts test tasks: from a brief, in words of its own, valid, and solvable by itself."""

import json
from functools import cache
from typing import Any

import pytest

from packs.retail.tasks.briefs import KINDS, Brief, Deck
from packs.retail.tasks.outputs import answered
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.validate import validate
from services.generator.agentflow_prompt import TaskDraft
from tests.support.retail_play import expected, model, play
from tests.support.store import STORE

COUNT = 3 * len(KINDS)


@cache
def shop() -> Shop:
    return Shop(STORE)


@cache
def deck() -> Deck:
    return Deck(shop().data, 11, size=COUNT)


def draft(brief: Brief) -> dict[str, Any]:
    knowledge = [f"# brief\n{json.dumps(brief.as_json(), ensure_ascii=False)}"]
    said = model("generator", "task", {"rules": ["one"], "knowledge": knowledge, "request": "Make a test task."})
    return TaskDraft.model_validate(said).model_dump()


@pytest.mark.parametrize("number", range(COUNT))
def test_a_draft_is_valid_and_can_be_solved(number: int) -> None:
    task = draft(deck()[number])
    report = validate({part: task[part] for part in ("q", "agt", "ogt")}, shop())
    assert report.wrong == ()
    again = play(task["q"], shop(), [f"I have told you all I know. {task['q']}"] * 3)
    assert again.changed == expected(task["agt"], shop())
    assert all(answered(output, again.answer) for output in task["ogt"])


def test_drafts_differ_and_the_same_brief_gives_the_same() -> None:
    texts = [draft(deck()[number])["q"] for number in range(COUNT)]
    assert len(set(texts)) == COUNT
    assert texts[0] == draft(deck()[0])["q"]


def test_without_a_brief_it_says_so() -> None:
    task = model("generator", "task", {"knowledge": ["# other\nnothing"], "request": "Make a test task."})
    assert (task["agt"], task["ogt"], task["confidence"]) == ([], [], 0.0)
    assert "brief" in task["reasoning"]
