"""Budgets for tool calls and time: what counts, and how a user raises them."""

from datetime import timedelta
from typing import Any

import pytest

from parley.events.values import ActionSpec
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.kernel.wording import BUDGET_SPENT
from shared.domain.rules.decide import decide
from tests.unit.domain.spec import GIVE_UP, NOON, RAISE, act, draft, given, request, say, turn
from tests.unit.domain.test_for_each import LIST, LOOK, approved_plan, expand, finish_step
from tests.unit.domain.test_polling import after_poll, polls
from tests.unit.domain.test_waiting_steps import session_after

__all__ = ["polls"]
ASK = c.Ask(text=BUDGET_SPENT, about="budget")
PAIR = (act("1.1"), act("1.2"))


def later(session: Session, command: c.Command, seconds: float) -> Session:
    """The session after a command of the due service, else of the keeper. `seconds`: its time after noon."""
    by = CommandMeta(
        session.work.service if session.work else "keeper", NOON + timedelta(seconds=seconds), work=session.work
    )
    return session_after(decide(session, command, by), begin=session)  # type: ignore[arg-type]


def test_every_started_call_is_counted_including_quiet_ones() -> None:
    quiet = ActionSpec(id="1.3", tool="peek", quiet=True)
    session = session_after(request("agentflow", call_budget=3), turn(*PAIR, quiet))
    assert session.spent.tool_calls == 1, "the quiet read has begun"
    assert session_after(c.Start(), begin=session).spent.tool_calls == 3
    assert session_after(c.Start(), begin=session).is_over_budget


def test_all_polls_are_counted_including_those_without_a_changed_value(polls: Session) -> None:
    first = after_poll(polls, 1, 1)
    assert first.spent.tool_calls == 1
    assert after_poll(first, 40, 2).spent.tool_calls == 40


def test_time_counts_only_while_a_service_is_due() -> None:
    due = session_after(request("conversation", time_budget=30))
    in_review = later(due, draft(), 20)
    assert (due.spent.seconds, in_review.spent.seconds, in_review.work) == (0, 20, None)
    by_person = CommandMeta("user:ann", NOON + timedelta(hours=1), id="c9")
    again = session_after(decide(in_review, c.Say(text="shorter", feedback=True), by_person), begin=in_review)
    assert (again.spent.seconds, again.is_over_budget) == (20, False), "the user's thinking time does not count"
    assert later(again, draft(), 3_612).is_over_budget


def test_a_clock_that_runs_backwards_subtracts_nothing() -> None:
    due = session_after(request("conversation", time_budget=30))
    assert later(due, draft(), -20).spent.seconds == 0


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ({"call_budget": 2}, {"calls": 2, "seconds": 0, "tokens": 0}),
        ({"call_budget": 2, "time_budget": 100}, {"calls": 2, "seconds": 51, "tokens": 0}),
        ({"call_budget": 2, "token_budget": 10}, {"calls": 2, "seconds": 0, "tokens": 6}),
    ],
)
def test_an_answer_raises_every_budget_by_half(limits: dict[str, Any], raised: dict[str, int]) -> None:
    spent = (request("agentflow", **limits), turn(*PAIR, act("1.3", "1.1")), c.Start())
    session = session_after(*spent)
    assert (session.spent.tool_calls, session.is_over_budget) == (2, True)
    raise_budget = given(*spent, c.Pause(), c.Resume()).when(c.RaiseBudget(calls=2)).then("budget.raised", calls=2)
    assert not raise_budget.session.is_over_budget
    question = (request("agentflow", **limits), turn(*PAIR), ASK)
    answer = given(*question).when(say(RAISE)).then("budget.raised", **raised)
    answer.leaves("executing", "executor")
    assert answer.session.settings.call_budget == 4
    given(*question).when(c.Answer(text=GIVE_UP)).then("session.stopped").leaves("resting", "nobody")


def test_raising_a_missing_budget_does_not_create_it() -> None:
    session = session_after(request("agentflow"), c.RaiseBudget(calls=5, seconds=5))
    assert (session.settings.call_budget, session.settings.time_budget) == (None, None)
    given(say()).when(c.RaiseBudget()).refused(Invalid, "tokens, cost, calls or seconds")


def test_collecting_the_results_of_items_is_not_counted_as_a_call() -> None:
    session = session_after(
        *approved_plan(LIST, LOOK), expand("s2", "a", "b"), c.Start(), finish_step("s2[0]"), finish_step("s2[1]")
    )
    assert session.spent.tool_calls == 3, "one call for the list, and one for each item"
    assert session_after(c.Start(), begin=session).spent.tool_calls == 3
