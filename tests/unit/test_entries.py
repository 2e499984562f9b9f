"""Journal entries that refer to earlier ones: answers to questions, and approvals."""

from datetime import UTC, datetime
from typing import Any

from parley.events import facts
from shared.journal.entries import entries

AT = datetime(2026, 7, 21, 2, 56, tzinfo=UTC)


def event_fields(version: int, **overrides: Any) -> dict[str, Any]:
    fields = {"id": f"e{version}", "session_id": "s", "version": version, "at": AT, "actor": "user:ada"}
    return {**fields, "question_id": "1.1", "kind": "action", **overrides}


def kinds_and_keys(*events: facts.QuestionAsked | facts.QuestionAnswered) -> list[tuple[str, str]]:
    dumped = [entry.model_dump() for event in events for entry in entries(event)]
    return [(entry["kind"], entry["key"]) for entry in dumped if not entry["key"].startswith("action:")]


def test_an_action_that_asks_twice_has_two_answered_questions_in_the_journal() -> None:
    asked = [facts.QuestionAsked(**event_fields(version, text="Which one?")) for version in (5, 7)]
    answered = [
        facts.QuestionAnswered(**event_fields(version, text="Tea", asked_version=version - 1)) for version in (6, 8)
    ]
    journal = kinds_and_keys(asked[0], answered[0], asked[1], answered[1])
    first, second = "question:5", "question:7"
    assert journal == [("question", first), ("update", first), ("question", second), ("update", second)]


def test_an_answer_without_a_question_version_is_a_separate_entry() -> None:
    assert kinds_and_keys(facts.QuestionAnswered(**event_fields(6, text="Tea"))) == [("said", "said:6")]


def test_an_answer_about_an_uncertain_action_only_updates_the_action() -> None:
    answered = event_fields(6, text="It happened", key="happened") | {"kind": "uncertain"}
    assert kinds_and_keys(facts.QuestionAnswered(**answered)) == []
