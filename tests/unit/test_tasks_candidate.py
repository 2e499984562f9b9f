"""What the generator makes of a draft, a loop and an independent run, from their journals alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.tasks.candidate import CandidateOptions, CandidateRejected, TaskCandidate, _differences
from cli.tasks.run_trace import RunTrace, run_trace
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import ScenarioDeck
from packs.retail.tasks.task import ExpectedCall, RetailTask
from parley.client.client import Parley
from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, Outcome
from tests.support.store import STORE

SHOP = Shop(STORE)
BRIEF = ScenarioDeck(SHOP.data, 2, kinds=["several"])[0]
USER = BRIEF.user
DRAFT = RetailTask.model_validate(
    {
        "q": f"Your e-mail is {USER['email']}. You want: {'; '.join(wish.about for wish in BRIEF.intents)}.",
        "agt": [{"name": wish.tool, "arguments": dict(wish.arguments)} for wish in BRIEF.intents if wish.tool],
        "ogt": [answer for wish in BRIEF.intents for answer in wish.answers],
    }
)


def candidate() -> TaskCandidate:
    return TaskCandidate(Parley("http://127.0.0.1:9"), SHOP, BRIEF, "name", CandidateOptions())


def run(calls: tuple[ExpectedCall, ...], answer: str = "Done.", *, verdict: str = "complete") -> RunTrace:
    """A trace of a loop that made these calls in one turn."""
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
    return run_trace("s", events)


def as_done(loop: RunTrace) -> RetailTask:
    calls = tuple(ExpectedCall(name=item.tool, arguments=item.arguments) for item in loop.writes)
    return DRAFT.model_copy(update={"agt": calls})


def test_a_loop_that_did_everything_is_complete() -> None:
    loop = run(DRAFT.agt)
    candidate()._require_complete(DRAFT, as_done(loop), loop)
    assert _differences(DRAFT, as_done(loop)) == []


def test_a_loop_that_left_out_a_request_is_rejected() -> None:
    loop = run(DRAFT.agt[:1], "I could not do the rest.")
    with pytest.raises(CandidateRejected, match=rf"{DRAFT.agt[1].name}.*could not do the rest") as rejected:
        candidate()._require_complete(DRAFT, as_done(loop), loop)
    assert rejected.value.why == "loop left it undone"


def test_an_answer_without_the_expected_output_is_rejected() -> None:
    loop = run(DRAFT.agt)
    lookup = next(order for order in SHOP.data["orders"].values() if order["user_id"] == BRIEF.user_id)
    total = f"{sum(item['price'] for item in lookup['items']):.2f}"
    asked = DRAFT.model_copy(update={"ogt": (total,)})
    with pytest.raises(CandidateRejected, match=f"to tell '{total}'"):
        candidate()._require_complete(asked, as_done(loop), loop)


def test_a_loop_that_ran_out_of_turns_is_rejected() -> None:
    loop = run(DRAFT.agt, verdict="continue")
    with pytest.raises(CandidateRejected, match="used up its turns"):
        candidate()._require_complete(DRAFT, as_done(loop), loop)
    nothing_left = run(())
    assert nothing_left.is_complete


def test_differences_between_draft_and_loop_are_listed() -> None:
    other = DRAFT.agt[0].model_copy(update={"arguments": {**DRAFT.agt[0].arguments, "more": 1}})
    differences = _differences(
        DRAFT.model_copy(update={"ogt": ("7",)}), DRAFT.model_copy(update={"agt": (other, *DRAFT.agt[1:]), "ogt": ()})
    )
    assert [(item["field"], item["before"] is None, item["after"] is None) for item in differences] == [
        ("agt", False, True),
        ("agt", True, False),
        ("ogt", False, True),
    ]


def test_solvable_means_the_same_data_in_any_order_and_the_same_answers() -> None:
    task = DRAFT.model_copy(update={"ogt": ("1,012.50",)})
    judge = candidate()._check_solvable
    assert judge(task, run(DRAFT.agt[::-1], "It is $1012.5.")).ok
    silent = judge(task, run(DRAFT.agt, "Done."))
    assert (silent.ok, silent.detail) == (False, "it did not tell '1,012.50'")
    less = judge(task, run(DRAFT.agt[:1], "It is $1012.5."))
    assert (less.ok, less.detail) == (False, f"the independent run left other data: it did {DRAFT.agt[0].name}")
    nothing = judge(task, run((), "It is $1012.5."))
    assert nothing.detail == "the independent run left other data: it did nothing"
