"""Usage: any event may record model calls, each counted once; an action that ran out of budget runs again."""

import pytest

from parley.events import dump_event, parse_event
from parley.events.values import ModelCall
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.kernel.wording import BUDGET_OPTIONS, OUT_OF_BUDGET
from shared.domain.rules.decide import decide
from shared.story import StoryLine, finish_action
from tests.unit.domain.spec import GIVE_UP, NOON, RAISE, TO_PLAN, act, done, draft, given, request, say, spend, turn

CALL = ModelCall(
    model="m", role="planner", prompt_tokens=10, cached_tokens=4, completion_tokens=5, cost=0.5, latency=1, attempt=1
)
READ, NEXT = act("1.1"), act("1.2", "1.1")
NO_BUDGET = finish_action("1.1", ok=False, error=OUT_OF_BUDGET, cause="budget")
BUDGET_SPENT: tuple[StoryLine, ...] = (request("agentflow", token_budget=100), turn(READ, NEXT), c.Start(), spend(100))


def test_an_event_records_the_model_calls_of_its_command() -> None:
    before = given(say()).session
    by = CommandMeta("planner", NOON, work=before.work, usage=(CALL, CALL))
    event = decide(before, draft(), by)
    after = evolve(before, event)
    assert (after.spent.calls, after.spent.tokens, after.spent.cached_tokens, after.spent.cost) == (2, 30, 8, 1.0)
    assert (after.phase, after.counts.plans) == ("awaiting_approval", 1)
    assert parse_event(dump_event(event)) == event


def test_an_event_without_calls_stores_no_usage() -> None:
    assert b'"usage"' not in dump_event(given(*TO_PLAN).when(say("no")).then_event())


def test_calls_of_an_outcome_are_counted_for_its_action() -> None:
    before = given(request("agentflow"), turn(READ, NEXT), c.Start()).session
    calls = tuple(CALL.model_copy(update={"action_id": action_id}) for action_id in ("1.1", "1.1", "1.2", ""))
    after = evolve(before, decide(before, done(), CommandMeta("executor", NOON, work=before.work, usage=calls)))
    assert after.turn
    assert [action.tokens for action in after.turn.actions] == [30, 15]
    assert after.spent.calls == 4


def test_usage_without_calls_is_not_recorded() -> None:
    given(say()).when(c.RecordUsage(calls=())).refused(Invalid, "usage")


def test_an_action_out_of_budget_asks_after_its_batch_and_runs_again() -> None:
    other = act("1.3")
    story = (request("agentflow", token_budget=100), turn(READ, NEXT, other), c.Start(), spend(100), NO_BUDGET)
    assert given(*story).session.phase == "executing"  # 1.3 is still running
    asked = (
        given(*story)
        .when(done("1.3"))
        .then("actions.finished")
        .leaves("awaiting_input", "user", resume_phase="executing")
    )
    assert asked.session.question
    assert (asked.session.question.about, asked.session.question.options) == ("budget", BUDGET_OPTIONS)
    assert statuses(asked.session) == {"1.1": "failed", "1.2": "planned", "1.3": "finished"}
    raised = asked.given.when(say(RAISE)).then("budget.raised").leaves("executing", "executor", question=None)
    assert statuses(raised.session) == {"1.1": "planned", "1.2": "planned", "1.3": "finished"}


def test_after_giving_up_a_larger_budget_and_a_retry_resume_the_work() -> None:
    stopped = given(*BUDGET_SPENT, NO_BUDGET).when(c.Answer(text=GIVE_UP)).then("session.stopped")
    stopped.leaves("resting", "nobody", resume_phase="executing")
    raised = stopped.given.when(c.RaiseBudget(tokens=500)).then("budget.raised").leaves("resting", "nobody")
    again = raised.given.when(c.Retry()).then("session.retried").leaves("executing", "executor")
    assert statuses(again.session) == {"1.1": "planned", "1.2": "planned"}


@pytest.mark.parametrize("error", ["no", OUT_OF_BUDGET])
def test_other_failures_are_verified_whatever_their_text(error: str) -> None:
    failed = finish_action("1.1", ok=False, error=error)
    given(*BUDGET_SPENT).when(failed).then("actions.finished").leaves("verifying", "verifier")


def statuses(session: Session) -> dict[str, str]:
    return {action.spec.id: action.status for action in session.turn.actions} if session.turn else {}
