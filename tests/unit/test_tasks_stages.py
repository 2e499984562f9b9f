"""What the generator makes of a draft, a loop and an independent run, from their journals alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.tasks.stages import Candidate, Options, Rejected, _differences
from cli.tasks.trace import Trace, trace
from packs.retail.tasks.briefs import Deck
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Task, TaskCall
from parley.client.client import Parley
from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, Outcome
from tests.support.store import STORE

SHOP = Shop(STORE)
BRIEF = Deck(SHOP.data, 2, kinds=["several"])[0]
USER = BRIEF.user
DRAFT = Task.model_validate(
    {
        "q": f"Your e-mail is {USER['email']}. You want: {'; '.join(wish.about for wish in BRIEF.wishes)}.",
        "agt": [{"name": wish.tool, "arguments": dict(wish.arguments)} for wish in BRIEF.wishes if wish.tool],
        "ogt": [answer for wish in BRIEF.wishes for answer in wish.answers],
    }
)


def candidate() -> Candidate:
    return Candidate(Parley("http://127.0.0.1:9"), SHOP, BRIEF, "name", Options())


def run(calls: tuple[TaskCall, ...], answer: str = "Done.", *, verdict: str = "complete") -> Trace:
    """A loop that made these calls in one turn."""
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
    return trace("s", events)


def as_done(loop: Trace) -> Task:
    calls = tuple(TaskCall(name=one.tool, arguments=one.arguments) for one in loop.writes)
    return DRAFT.model_copy(update={"agt": calls})


def test_a_loop_that_did_all_of_it_is_whole() -> None:
    loop = run(DRAFT.agt)
    candidate()._must_be_whole(DRAFT, as_done(loop), loop)
    assert _differences(DRAFT, as_done(loop)) == []


def test_a_wish_that_was_left_undone_is_no_ground_truth() -> None:
    loop = run(DRAFT.agt[:1], "I could not do the rest.")
    with pytest.raises(Rejected, match=rf"{DRAFT.agt[1].name}.*could not do the rest") as rejected:
        candidate()._must_be_whole(DRAFT, as_done(loop), loop)
    assert rejected.value.why == "loop left it undone"


def test_an_answer_without_what_was_asked_for_is_none() -> None:
    loop = run(DRAFT.agt)
    lookup = next(order for order in SHOP.data["orders"].values() if order["user_id"] == BRIEF.user_id)
    total = f"{sum(item['price'] for item in lookup['items']):.2f}"
    asked = DRAFT.model_copy(update={"ogt": (total,)})
    with pytest.raises(Rejected, match=f"to tell '{total}'"):
        candidate()._must_be_whole(asked, as_done(loop), loop)


def test_a_loop_that_only_ran_out_of_turns_is_not_the_end_of_it() -> None:
    loop = run(DRAFT.agt, verdict="continue")
    with pytest.raises(Rejected, match="used up its turns"):
        candidate()._must_be_whole(DRAFT, as_done(loop), loop)
    nothing_left = run(())
    assert nothing_left.complete


def test_what_the_loop_did_otherwise_is_told() -> None:
    other = DRAFT.agt[0].model_copy(update={"arguments": {**DRAFT.agt[0].arguments, "more": 1}})
    found = _differences(
        DRAFT.model_copy(update={"ogt": ("7",)}), DRAFT.model_copy(update={"agt": (other, *DRAFT.agt[1:]), "ogt": ()})
    )
    assert [(one["field"], one["before"] is None, one["after"] is None) for one in found] == [
        ("agt", False, True),
        ("agt", True, False),
        ("ogt", False, True),
    ]


def test_solvable_is_the_same_data_in_whatever_order_and_the_same_answers() -> None:
    task = DRAFT.model_copy(update={"ogt": ("1,012.50",)})
    judge = candidate()._solvable
    assert judge(task, run(DRAFT.agt[::-1], "It is $1012.5.")).ok
    silent = judge(task, run(DRAFT.agt, "Done."))
    assert (silent.ok, silent.detail) == (False, "it did not tell '1,012.50'")
    less = judge(task, run(DRAFT.agt[:1], "It is $1012.5."))
    assert (less.ok, less.detail) == (False, f"the independent run left other data: it did {DRAFT.agt[0].name}")
    nothing = judge(task, run((), "It is $1012.5."))
    assert nothing.detail == "the independent run left other data: it did nothing"
