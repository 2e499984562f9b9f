"""A “why …?” about the item in review gets an honest reply; any other remark is followed."""

from typing import Any

import pytest

from rehearsal.refusals import NO_REASONS
from rehearsal.tests.contract import CODED, PLANNED, reply_to

PLAN = "Goal: Write a simple calculator in Python.\n1. Add\n2. Divide"


def reply_to_remark(task: str, *words: str) -> dict[str, Any]:
    draft = PLANNED if task == "text_plan" else CODED
    return reply_to(task, draft, *(("message", text) for text in words), request="a calculator", plan=PLAN)


@pytest.mark.parametrize("words", ["Why two steps?", "And why do you divide?", "how come it is so short", "why?"])
def test_a_question_for_reasons_gets_an_honest_reply(words: str) -> None:
    for task in ("text_plan", "code"):
        assert reply_to_remark(task, words) == {"kind": "answer", "text": NO_REASONS}


@pytest.mark.parametrize(
    "words", ["Ok, but make it shorter", "Make it shorter", "Add a step to print it", "Leave it as it is"]
)
def test_a_remark_that_requests_a_change_is_followed(words: str) -> None:
    reply = reply_to_remark("text_plan", words)
    assert reply["kind"] == "plan"
