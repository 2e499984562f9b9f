"""Budgets for calls of tools and for time: what is counted, and how a person raises them."""

from datetime import timedelta
from typing import Any

import pytest

from parley.events.values import ActionSpec, SessionSettings
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide
from shared.domain.errors import Invalid
from shared.domain.session import Session
from shared.domain.wording import BUDGET_SPENT
from tests.unit.domain.spec import GIVE_UP, NOON, RAISE, act, draft, given, request, say, turn
from tests.unit.domain.test_for_each import LIST, LOOK, begun, ended, expand
from tests.unit.domain.test_polling import looked, polls
from tests.unit.domain.test_waiting import told

__all__ = ["polls"]
ASK = c.Ask(text=BUDGET_SPENT, about="budget")
PAIR = (act("1.1"), act("1.2"))


def later(session: Session, command: c.Command, seconds: float) -> Session:
    """The session after the command of the service that is due, so many seconds after noon."""
    by = CommandMeta(
        session.work.service if session.work else "keeper", NOON + timedelta(seconds=seconds), work=session.work
    )
    return told(decide(session, command, by), begin=session)  # type: ignore[arg-type]


def test_each_call_that_starts_is_counted_also_a_quiet_one() -> None:
    quiet = ActionSpec(id="1.3", tool="peek", quiet=True)
    session = told(request("agentflow", call_budget=3), turn(*PAIR, quiet))
    assert session.spent.tool_calls == 1, "the quiet read has begun"
    assert told(c.Start(), begin=session).spent.tool_calls == 3
    assert told(c.Start(), begin=session).over_budget


def test_looks_are_counted_also_those_that_showed_nothing(polls: Session) -> None:
    first = looked(polls, 1, 1)
    assert first.spent.tool_calls == 1
    assert looked(first, 40, 2).spent.tool_calls == 40


def test_only_the_time_counts_while_a_service_is_due() -> None:
    due = told(request("conversation", time_budget=30))
    shown = later(due, draft(), 20)
    assert (due.spent.seconds, shown.spent.seconds, shown.work) == (0, 20, None)
    by_person = CommandMeta("user:ann", NOON + timedelta(hours=1), id="c9")
    again = told(decide(shown, c.Say(text="shorter", feedback=True), by_person), begin=shown)
    assert (again.spent.seconds, again.over_budget) == (20, False), "that a person thinks costs nothing"
    assert later(again, draft(), 3_612).over_budget


def test_a_clock_that_runs_back_takes_nothing_off() -> None:
    due = told(request("conversation", time_budget=30))
    assert later(due, draft(), -20).spent.seconds == 0


@pytest.mark.parametrize(
    ("limits", "raised"),
    [
        ({"call_budget": 2}, {"calls": 2, "seconds": 0, "tokens": 0}),
        ({"call_budget": 2, "time_budget": 100}, {"calls": 2, "seconds": 51, "tokens": 0}),
        ({"call_budget": 2, "token_budget": 10}, {"calls": 2, "seconds": 0, "tokens": 6}),
    ],
)
def test_the_question_raises_every_budget_by_half(limits: dict[str, Any], raised: dict[str, int]) -> None:
    spent = (request("agentflow", **limits), turn(*PAIR, act("1.3", "1.1")), c.Start())
    session = told(*spent)
    assert (session.spent.tool_calls, session.over_budget) == (2, True)
    more = given(*spent, c.Pause(), c.Resume()).when(c.RaiseBudget(calls=2)).then("budget.raised", calls=2, needs=2)
    assert not more.session.over_budget
    asked = (request("agentflow", **limits), turn(*PAIR), ASK)
    answer = given(*asked).when(say(RAISE)).then("budget.raised", **raised)
    answer.leaves("executing", "executor")
    assert answer.session.settings.call_budget == 4
    given(*asked).when(c.Answer(text=GIVE_UP)).then("session.stopped").leaves("resting", "nobody")


def test_a_budget_that_there_is_not_is_not_made_by_raising_it() -> None:
    session = told(request("agentflow"), c.RaiseBudget(calls=5, seconds=5))
    assert (session.settings.call_budget, session.settings.time_budget) == (None, None)
    given(say()).when(c.RaiseBudget()).refused(Invalid, "tokens, cost, calls or seconds")


def test_a_release_that_knows_no_such_budget_does_not_go_on_without_it() -> None:
    for settings, needs in (({"call_budget": 1}, 2), ({"time_budget": 1}, 2), ({"token_budget": 1}, 1), ({}, 1)):
        begins = given().when(c.Say(text="x", settings=SessionSettings(**settings))).then("message.received")
        assert begins.session.needs == needs


def test_what_gathers_the_results_of_items_is_no_call() -> None:
    session = told(*begun(LIST, LOOK), expand("s2", "a", "b"), c.Start(), ended("s2[0]"), ended("s2[1]"))
    assert session.spent.tool_calls == 3, "the list, and each item"
    assert told(c.Start(), begin=session).spent.tool_calls == 3
