"""To “why …?” about what is in review there is an honest reply in words; anything else is done as it says."""

from typing import Any

import pytest

from rehearsal.remarks import AGREED, NO_REASONS
from rehearsal.tests.contract import reply_to

PLAN = "Goal: Write a simple calculator in Python.\n1. Add\n2. Divide"


def remarked(task: str, *words: str, review: str = PLAN, **sections: Any) -> dict[str, Any]:
    said = "\n".join(words)
    return reply_to(task, request="a calculator", feedback=said, remark=said, review=review, plan=PLAN, **sections)


@pytest.mark.parametrize("words", ["Why two steps?", "And why do you divide?", "how come it is so short", "why?"])
def test_it_has_no_reasons_and_says_so(words: str) -> None:
    for task in ("text_plan", "code"):
        assert remarked(task, words) == {"kind": "answer", "text": NO_REASONS}


@pytest.mark.parametrize("words", ["ok", "Ok, looks good!", "That looks great, thanks", "LGTM"])
def test_who_agrees_is_told_what_approving_does(words: str) -> None:
    for task in ("text_plan", "code"):
        assert remarked(task, words) == {"kind": "answer", "text": AGREED}


@pytest.mark.parametrize(
    "words",
    [
        "Ok, but make it shorter",
        "Make it shorter",
        "Add a step to print it",
        "Leave it as it is",
    ],
)
def test_what_asks_for_a_change_changes_it(words: str) -> None:
    reply = remarked("text_plan", words)
    assert reply["kind"] == "plan"


def test_a_question_and_a_wish_are_a_wish() -> None:
    assert remarked("text_plan", "why?", "make it shorter")["kind"] != "answer"


def test_where_nothing_is_before_the_person_a_why_is_a_request() -> None:
    assert remarked("text_plan", "Why?", review="")["kind"] == "question"
