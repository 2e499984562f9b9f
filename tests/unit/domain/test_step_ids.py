"""Ids of the steps of text plans, which they keep through revisions."""

import pytest

from parley.events.values import Step
from shared.domain.steps.plan_steps import with_kept_ids

BEFORE = (Step(text="Ask", id="s1"), Step(text="Draw", id="s2"), Step(text="Print", id="s3"))
REVISIONS: dict[str, tuple[list[tuple[str, str | None]], list[str]]] = {
    "the same": ([("Ask", None), ("Draw", None), ("Print", None)], ["s1", "s2", "s3"]),
    "one more": ([("Ask", None), ("Check", None), ("Draw", None), ("Print", None)], ["s1", "s4", "s2", "s3"]),
    "one fewer": ([("Ask", None), ("Print", None)], ["s1", "s3"]),
    "another order": ([("Print", None), ("Ask", None), ("Draw", None)], ["s3", "s1", "s2"]),
    "one reworded": ([("Ask", None), ("Draw it", None), ("Print", None)], ["s1", "s2", "s3"]),
    "named by the model": ([("Print it all", "s3"), ("Ask", None)], ["s3", "s1"]),
    "given twice": ([("Ask", "s1"), ("Ask again", "s1"), ("Draw", None), ("End", None)], ["s1", "s4", "s2", "s5"]),
    "an unknown id": ([("Wait", "s9"), ("Ask", None)], ["s4", "s1"]),
}


@pytest.mark.parametrize("name", REVISIONS)
def test_a_step_keeps_its_id(name: str) -> None:
    drafts, ids = REVISIONS[name]
    kept = with_kept_ids([Step(text=text, id=id_) for text, id_ in drafts], BEFORE)
    assert [(step.text, step.id) for step in kept] == [(text, id_) for (text, _), id_ in zip(drafts, ids, strict=True)]


def test_a_first_plan_and_one_of_an_older_release_get_ids() -> None:
    assert [step.id for step in with_kept_ids([Step(text="Ask"), Step(text="Draw")], ())] == ["s1", "s2"]
    assert [step.id for step in with_kept_ids([Step(text="Ask")], (Step(text="Ask"),))] == ["s1"]
