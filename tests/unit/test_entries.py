"""The journal's entries where one event cannot be read off another: which question an answer is to."""

from datetime import UTC, datetime
from typing import Any

from parley.events import facts
from services.gateway.views.entries import entries

MOON = datetime(2026, 7, 21, 2, 56, tzinfo=UTC)


def of_action(version: int, **more: Any) -> dict[str, Any]:
    said = {"id": f"e{version}", "session_id": "s", "version": version, "at": MOON, "actor": "user:ada"}
    return {**said, "question_id": "1.1", "kind": "action", **more}


def keyed(*events: facts.QuestionAsked | facts.QuestionAnswered) -> list[tuple[str, str]]:
    told = [entry.model_dump() for event in events for entry in entries(event)]
    return [(entry["kind"], entry["key"]) for entry in told if not entry["key"].startswith("action:")]


def test_an_action_that_asks_twice_has_two_questions_in_the_journal_each_with_its_answer() -> None:
    asked = [facts.QuestionAsked(**of_action(version, text="Which one?")) for version in (5, 7)]
    answered = [
        facts.QuestionAnswered(**of_action(version, text="Tea", asked_version=version - 1)) for version in (6, 8)
    ]
    told = keyed(asked[0], answered[0], asked[1], answered[1])
    first, second = "question:5", "question:7"
    assert told == [("question", first), ("update", first), ("question", second), ("update", second)]


def test_an_answer_that_does_not_say_to_which_question_it_is_stands_for_itself() -> None:
    assert keyed(facts.QuestionAnswered(**of_action(6, text="Tea"))) == [("said", "said:6")]


def test_an_answer_about_an_uncertain_outcome_is_told_by_its_action_alone() -> None:
    answered = of_action(6, text="It happened", key="happened") | {"kind": "uncertain"}
    assert keyed(facts.QuestionAnswered(**answered)) == []
