"""Task candidates: how the generator judges a draft, the run that solves it, and an independent run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.tasks.candidate import CandidateOptions, CandidateRejected, TaskCandidate, _differences
from cli.tasks.run_trace import RunTrace
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import ScenarioDeck
from packs.retail.tasks.task import ExpectedCall, RetailTask
from parley.client.client import Parley
from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, Outcome
from tests.support.store import STORE

SHOP = Shop(STORE)
SCENARIO = ScenarioDeck(SHOP.data, 2, kinds=["several"])[0]
USER = SCENARIO.user
DRAFT = RetailTask.model_validate(
    {
        "q": f"Your e-mail is {USER['email']}. You want: {'; '.join(intent.about for intent in SCENARIO.intents)}.",
        "agt": [
            {"name": intent.tool, "arguments": dict(intent.arguments)} for intent in SCENARIO.intents if intent.tool
        ],
        "ogt": [answer for intent in SCENARIO.intents for answer in intent.answers],
    }
)


def candidate() -> TaskCandidate:
    return TaskCandidate(Parley("http://127.0.0.1:9"), SHOP, SCENARIO, "name", CandidateOptions())


def run(calls: tuple[ExpectedCall, ...], answer: str = "Done.", *, verdict: str = "complete") -> RunTrace:
    """The trace of a run that made these calls in one turn."""
    events: list[SessionEvent] = []

    def add(kind: type[Any], actor: str, **fields: Any) -> None:
        version = len(events) + 1
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=version)
        events.append(kind(id=f"e{version}", session_id="s", version=version, at=at, actor=actor, **fields))

    specs = tuple(
        ActionSpec(id=f"1.{at}", tool=call.name, arguments=call.arguments, effect="write")
        for at, call in enumerate(calls)
    )
    add(facts.MessageReceived, "user:ann", text="q", intent="request", workflow="agentflow")
    add(facts.TurnPlanned, "planner", turn=1, sub_goal="All", actions=specs)
    if specs:
        add(facts.ActionsStarted, "executor", actions=tuple(ActionAttempt(action_id=spec.id) for spec in specs))
        outcomes = tuple(Outcome(action_id=spec.id, ok=True, result="{}") for spec in specs)
        add(facts.ActionsFinished, "executor", outcomes=outcomes)
        add(facts.TurnVerified, "verifier", turn=1, status="success", next_action=verdict)
    add(facts.AnswerGiven, "generator", text=answer, confidence=1)
    return RunTrace("s", events)


def as_executed(trace: RunTrace) -> RetailTask:
    """The draft with the writes of the run as its expected calls."""
    return DRAFT.model_copy(update={"agt": trace.writes})


def test_a_run_with_all_expected_calls_is_complete() -> None:
    trace = run(DRAFT.agt)
    candidate()._require_complete(DRAFT, as_executed(trace), trace)
    assert _differences(DRAFT, as_executed(trace)) == []


def test_a_run_without_an_expected_call_is_rejected() -> None:
    trace = run(DRAFT.agt[:1], "I could not do the rest.")
    with pytest.raises(CandidateRejected, match=rf"{DRAFT.agt[1].name}.*could not do the rest") as rejected:
        candidate()._require_complete(DRAFT, as_executed(trace), trace)
    assert rejected.value.why == "loop left it undone"


def test_an_answer_without_the_expected_output_is_rejected() -> None:
    trace = run(DRAFT.agt)
    order = next(order for order in SHOP.data["orders"].values() if order["user_id"] == SCENARIO.user_id)
    total = f"{sum(item['price'] for item in order['items']):.2f}"
    task = DRAFT.model_copy(update={"ogt": (total,)})
    with pytest.raises(CandidateRejected, match=f"to tell '{total}'"):
        candidate()._require_complete(task, as_executed(trace), trace)


def test_a_run_that_used_up_its_turns_is_rejected() -> None:
    trace = run(DRAFT.agt, verdict="continue")
    with pytest.raises(CandidateRejected, match="used up its turns"):
        candidate()._require_complete(DRAFT, as_executed(trace), trace)
    assert run(()).is_complete


def test_differences_between_the_draft_and_the_run_are_listed() -> None:
    changed_call = DRAFT.agt[0].model_copy(update={"arguments": {**DRAFT.agt[0].arguments, "more": 1}})
    differences = _differences(
        DRAFT.model_copy(update={"ogt": ("7",)}),
        DRAFT.model_copy(update={"agt": (changed_call, *DRAFT.agt[1:]), "ogt": ()}),
    )
    assert [(item["field"], item["before"] is None, item["after"] is None) for item in differences] == [
        ("agt", False, True),
        ("agt", True, False),
        ("ogt", False, True),
    ]


def test_a_task_is_solvable_if_another_run_has_the_same_changes_and_answers() -> None:
    task = DRAFT.model_copy(update={"ogt": ("1,012.50",)})
    problems = candidate()._unsolved
    assert problems(task, run(DRAFT.agt[::-1], "It is $1012.5.")) == []
    assert problems(task, run(DRAFT.agt, "Done.")) == ["it did not tell '1,012.50'"]
    one_call = problems(task, run(DRAFT.agt[:1], "It is $1012.5."))
    assert one_call == [f"the independent run left other data: it did {DRAFT.agt[0].name}"]
    no_calls = problems(task, run((), "It is $1012.5."))
    assert no_calls == ["the independent run left other data: it did nothing"]
