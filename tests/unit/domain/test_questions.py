"""Questions to the user: about the request and about spent budgets."""

from typing import Any

import pytest

from parley.events import facts
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn, Stale
from shared.domain.kernel.evolve import evolve
from shared.domain.rules.decide import due
from tests.unit.domain.spec import (
    ANN,
    ANSWERING,
    ASKED,
    CHECKING,
    EXECUTING,
    GIVE_UP,
    NOON,
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


def test_the_planner_asks_and_gets_the_answer() -> None:
    result = given(say()).when(c.Ask(text="floats?", options=("yes", "no"))).then("question.asked", kind="request")
    result.leaves("awaiting_input", "user")
    result.given.when(c.Answer(text="yes", action_id="request-1")).refused(Stale, "no longer open")
    result.given.when(c.Answer(text=" ")).refused(Invalid, "empty")
    after = result.given.when(say("yes")).then("question.answered", question_id="request-2")
    after.leaves("planning", "planner", unread=("yes",), question=None)
    after.given.when(c.Answer(text="yes")).refused(OutOfTurn, "No question")
    after.given.when(draft()).then("plan.drafted").leaves("awaiting_approval", "user", unread=())


@pytest.mark.parametrize("before", [CHECKING, VERIFYING, ANSWERING, EXECUTING])
def test_only_drafting_phases_ask_about_the_request(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(c.Ask(text="which?")).refused(OutOfTurn)


@pytest.mark.parametrize("about", ["continue", "uncertain"])
def test_services_cannot_ask_questions_that_only_the_domain_asks(about: str) -> None:
    ask = c.Ask.model_validate({"text": "?", "about": about})
    given(say()).when(ask).refused(OutOfTurn, "does not ask")


def test_an_answer_without_a_question_changes_nothing() -> None:
    before = given(*ASKED)
    answered = before.when(say("yes")).then("question.answered").event
    rests = given(say(), c.Stop()).session
    after = evolve(rests, answered)
    assert (after.phase, after.words.unread) == ("resting", ())


# --- budgets


def over(**limits: Any) -> tuple[StoryLine, ...]:
    ask = c.Ask(text="the budget is spent", about="budget")
    return (request("conversation", **limits), draft(), approve, spend(tokens=100, cost=2.0), ask)


@pytest.mark.parametrize("limits", [{"token_budget": 100}, {"cost_budget": 1.0}, {"token_budget": 1, "cost_budget": 9}])
def test_a_spent_budget_asks_and_raising_it_resumes_the_work(limits: dict[str, Any]) -> None:
    asked = given(*over(**limits))
    assert asked.session.is_over_budget
    assert asked.session.question is not None
    assert [option.key for option in asked.session.question.options] == ["raise", "give_up"]
    result = asked.when(say(RAISE)).then("budget.raised").leaves("coding", "generator", question=None)
    assert not result.session.is_over_budget


def test_the_user_chooses_how_far_to_raise_the_budget() -> None:
    result = given(*over(token_budget=100)).when(c.RaiseBudget(tokens=500)).then("budget.raised", tokens=500)
    result.leaves("coding", "generator")
    assert result.session.settings.token_budget == 600


def test_giving_up_stops_and_can_be_retried() -> None:
    result = given(*over(token_budget=100)).when(c.Answer(text=GIVE_UP)).then("session.stopped")
    result.leaves("resting", "nobody", resume_phase="coding")
    raised = result.given.when(c.RaiseBudget(tokens=500)).then("budget.raised").leaves("resting", "nobody")
    raised.given.when(c.Retry()).then("session.retried").leaves("coding", "generator")


def test_a_budget_question_accepts_only_its_options() -> None:
    given(*over(cost_budget=1.0)).when(say("hm")).refused(Invalid, RAISE)


def test_without_limits_no_budget_is_spent() -> None:
    session = given(say(), spend(tokens=10**9, cost=1e6)).session
    assert not session.is_over_budget
    assert (session.spent.calls, session.spent.tokens) == (1, 2 * 10**9)


def test_an_answer_to_a_budget_question_in_an_old_log_resumes_the_work() -> None:
    asked = given(*over(token_budget=100)).session
    fields = {"id": "x", "session_id": "s1", "version": asked.version + 1, "at": NOON, "actor": ANN}
    old = facts.QuestionAnswered.model_validate(fields | {"question_id": "budget-5", "text": "go on"})
    after = evolve(asked, old)
    assert (after.phase, due(after)) == ("coding", "generator")


def test_each_usage_record_is_a_separate_event_and_makes_no_service_due() -> None:
    first = given(say()).when(spend(latency=0.1)).then("usage.recorded").leaves("planning", "nobody")
    again = given(say()).when(spend(latency=0.1)).then("usage.recorded")
    second = first.given.when(spend(latency=0.2)).then("usage.recorded")
    assert first.event.id == again.event.id
    assert first.event.id != second.event.id


@pytest.mark.parametrize("before", [TO_PLAN, TO_DONE, (say(), c.Stop()), (say(), c.Fail(reason="x"))])
def test_usage_is_recorded_in_any_phase(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(spend()).then("usage.recorded")
