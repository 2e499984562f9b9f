"""What a session asks a person: the drafts' questions, and budgets that have run out."""

from typing import Any

import pytest

from parley.events import facts
from shared.domain import commands as c
from shared.domain.decide import due
from shared.domain.errors import Invalid, OutOfTurn, Stale
from shared.domain.evolve import evolve
from tests.unit.domain.spec import (
    ANN,
    ANSWERING,
    ASKED,
    CHECKING,
    CODING,
    EXECUTING,
    GIVE_UP,
    NOON,
    NOTES,
    RAISE,
    TO_DONE,
    TO_PLAN,
    VERIFYING,
    StoryLine,
    approve,
    draft,
    given,
    request,
    say,
    spend,
)

# --- questions


def test_the_planner_asks_and_takes_the_answer_in() -> None:
    told = given(say()).when(c.Ask(text="floats?", options=("yes", "no"))).then("question.asked", kind="request")
    told.leaves("awaiting_input", "user")
    told.given.when(c.Answer(text="yes", action_id="request-1")).refused(Stale, "no longer open")
    told.given.when(c.Answer(text=" ")).refused(Invalid, "empty")
    heard = told.given.when(say("yes")).then("question.answered", question_id="request-2")
    heard.leaves("planning", "planner", feedback=("yes",), last_question="floats?", question=None)
    heard.given.when(c.Answer(text="yes")).refused(OutOfTurn, "No question")
    heard.given.when(draft()).then("plan.drafted").leaves("awaiting_approval", "user", last_question="", feedback=())


def test_an_answer_that_brings_a_file_keeps_it() -> None:
    told = given(*ASKED).when(say("see there", knowledge=(NOTES,))).then("message.received", intent="feedback")
    told.leaves("planning", "planner", knowledge=(NOTES,), feedback=("see there",), last_question="floats?")


def test_the_generator_s_question_goes_back_to_the_generator() -> None:
    told = given(*CODING, c.Ask(text="floats?")).when(say("yes")).then("question.answered")
    told.leaves("coding", "generator", feedback=("yes",))


@pytest.mark.parametrize("before", [CHECKING, VERIFYING, ANSWERING, EXECUTING])
def test_only_drafts_ask_about_the_request(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(c.Ask(text="which?")).refused(OutOfTurn)


@pytest.mark.parametrize("about", ["continue", "uncertain"])
def test_services_do_not_ask_what_the_domain_asks(about: str) -> None:
    ask = c.Ask.model_validate({"text": "?", "about": about})
    given(say()).when(ask).refused(OutOfTurn, "does not ask")


def test_an_answer_to_nothing_changes_nothing() -> None:
    before = given(*ASKED)
    answered = before.when(say("yes")).then("question.answered").event
    rests = given(say(), c.Stop()).session
    after = evolve(rests, answered)
    assert (after.phase, after.words.feedback) == ("resting", ())


# --- budgets


def over(**limits: Any) -> tuple[StoryLine, ...]:
    ask = c.Ask(text="the budget is spent", about="budget")
    return (request("conversation", **limits), draft(), approve, spend(tokens=100, cost=2.0), ask)


@pytest.mark.parametrize("limits", [{"token_budget": 100}, {"cost_budget": 1.0}, {"token_budget": 1, "cost_budget": 9}])
def test_a_spent_budget_asks_and_raising_it_goes_on_where_it_stood(limits: dict[str, Any]) -> None:
    asked = given(*over(**limits))
    assert asked.session.over_budget
    assert asked.session.question is not None
    assert [option.key for option in asked.session.question.options] == ["raise", "give_up"]
    told = asked.when(say(RAISE)).then("budget.raised").leaves("coding", "generator", question=None)
    assert not told.session.over_budget


def test_a_person_raises_it_by_an_amount_of_their_own() -> None:
    told = given(*over(token_budget=100)).when(c.RaiseBudget(tokens=500)).then("budget.raised", tokens=500)
    told.leaves("coding", "generator")
    assert told.session.settings.token_budget == 600


def test_a_budget_is_not_raised_by_nothing() -> None:
    given(*over(token_budget=100)).when(c.RaiseBudget()).refused(Invalid, "By how much")


def test_giving_up_stops_and_can_be_thought_over() -> None:
    told = given(*over(token_budget=100)).when(c.Answer(text=GIVE_UP)).then("session.stopped")
    told.leaves("resting", "nobody", resume_phase="coding")
    raised = told.given.when(c.RaiseBudget(tokens=500)).then("budget.raised").leaves("resting", "nobody")
    raised.given.when(c.Retry()).then("session.retried").leaves("coding", "generator")


def test_another_answer_about_the_budget_is_refused() -> None:
    given(*over(cost_budget=1.0)).when(say("hm")).refused(Invalid, RAISE)


def test_without_limits_nothing_is_over() -> None:
    session = given(say(), spend(tokens=10**9, cost=1e6)).session
    assert not session.over_budget
    assert (session.spent.calls, session.spent.tokens) == (1, 2 * 10**9)


def test_an_answer_about_the_budget_from_an_old_log_goes_on() -> None:
    asked = given(*over(token_budget=100)).session
    fields = {"id": "x", "session_id": "s1", "version": asked.version + 1, "at": NOON, "actor": ANN}
    old = facts.QuestionAnswered.model_validate(fields | {"question_id": "budget-5", "text": "go on"})
    after = evolve(asked, old)
    assert (after.phase, after.words.feedback, due(after)) == ("coding", ("go on",), "generator")


def test_every_call_of_a_work_is_a_fact_of_its_own_and_due_nobody() -> None:
    first = given(say()).when(spend(latency=0.1)).then("usage.recorded").leaves("planning", "nobody")
    again = given(say()).when(spend(latency=0.1)).then("usage.recorded")
    second = first.given.when(spend(latency=0.2)).then("usage.recorded")
    assert first.event.id == again.event.id
    assert first.event.id != second.event.id


@pytest.mark.parametrize("before", [TO_PLAN, TO_DONE, (say(), c.Stop()), (say(), c.Fail(reason="x"))])
def test_usage_is_recorded_in_any_phase(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(spend()).then("usage.recorded")
