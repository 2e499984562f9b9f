"""Turns: batches of actions with dependencies and approvals, outcomes, uncertain outcomes, verdicts, takeovers."""

from dataclasses import replace
from typing import Any

import pytest

from parley.events import facts
from parley.events.hashing import canonical_hash
from parley.events.values import ActionAttempt, ActionSpec, PathPlan, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Work
from shared.domain.kernel.errors import AlreadyDone, Invalid, OutOfTurn, Stale
from shared.domain.kernel.session import review_target
from shared.domain.turn.batches import find_action, running_actions
from shared.story import finish_action
from tests.unit.domain.spec import (
    AGAIN,
    HAPPENED,
    LEAVE,
    TO_DONE,
    StoryLine,
    act,
    allow,
    answer,
    approve,
    done,
    draft,
    first_attempts,
    given,
    new_request,
    next_batch_ids,
    request,
    say,
    status,
    turn,
    verdict,
)

AGENTFLOW = (request("agentflow"),)
TWO_BATCHES = (*AGENTFLOW, turn(act("1.1"), act("1.2"), act("1.3", "1.1", "1.2")))
NEED_APPROVAL = (*AGENTFLOW, turn(act("1.1", ask="a write"), act("1.2", ask="a write"), act("1.3")))
LOOKED = (c.Start(), done("1.3"))  # the read of NEED_APPROVAL
A_PATH = (draft(kind="path", path=PathPlan(nodes=("note",))), approve)
STARTED = (*AGENTFLOW, turn(), c.Start())
WITHOUT_APPROVALS = request("agentflow", approval="never")
TWO_WRITES = (WITHOUT_APPROVALS, turn(act("1.1", effect="write"), act("1.2", effect="write")), c.Start())
ONE_WRITE = (WITHOUT_APPROVALS, turn(act("1.1", effect="write")), c.Start())
UNCERTAIN = (*ONE_WRITE, c.ReportUncertain(action_id="1.1", reason="the worker died"))


def test_a_turn_runs_in_batches() -> None:
    planned = given(*AGENTFLOW).when(TWO_BATCHES[1]).then("turn.planned", turn=1).leaves("executing", "executor")
    assert next_batch_ids(planned.session) == ("1.1", "1.2")
    started = planned.given.when(c.Start()).then("actions.started", actions=first_attempts("1.1", "1.2"))
    started.leaves("executing", "nobody")
    first = started.given.when(done("1.2")).then("actions.finished").leaves("executing", "nobody")
    second = first.given.when(done("1.1")).then("actions.finished").leaves("executing", "executor")
    last = second.given.when(c.Start()).then("actions.started", actions=first_attempts("1.3"))
    last.given.when(done("1.3")).then("actions.finished").leaves("verifying", "verifier")


def test_a_batch_is_started_once() -> None:
    started = given(*TWO_BATCHES, c.Start())
    started.when(c.Start()).refused(OutOfTurn, "running already")
    given(*TWO_BATCHES, c.Start(), done("1.1")).when(c.Start()).refused(OutOfTurn, "running already")


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ((act("1.1"), act("1.1")), "same id"),
        ((act("1.1", "z"),), "z, which is not in this turn"),
        ((act("1.1", "1.2"), act("1.2", "1.1"), act("1.3")), "1.1, 1.2 wait for each other"),
        ((act("1.1", "1.1"),), "wait for each other"),
    ],
)
def test_turns_that_could_never_end_are_refused(actions: tuple[ActionSpec, ...], text: str) -> None:
    given(*AGENTFLOW).when(turn(*actions)).refused(Invalid, text)
    escalated = (*AGENTFLOW, turn(), c.Start(), done(), verdict("escalate"))
    given(*escalated).when(c.TakeOver(sub_goal="x", actions=actions)).refused(Invalid, text)


def test_action_ids_are_unique_in_the_session() -> None:
    again = given(*STARTED, c.Stop(), new_request("else")).when(turn(act("1.1"), act("x", "1.1"))).then("turn.planned")
    assert next_batch_ids(again.session) == ("2.1",)
    assert again.session.turn is not None
    assert [a.spec.depends_on for a in again.session.turn.actions] == [(), ("2.1",)]
    assert [a.spec.id for a in again.session.left_running] == ["1.1"]


def test_a_turn_in_a_conversation_is_refused() -> None:
    given(say()).when(turn()).refused(OutOfTurn, "only approved code")


# --- approvals


def test_reads_of_a_batch_run_before_the_user_is_asked_about_its_changes() -> None:
    planned = given(*AGENTFLOW).when(NEED_APPROVAL[1]).then("turn.planned").leaves("executing", "executor")
    started = planned.given.when(c.Start()).then("actions.started", actions=first_attempts("1.3"))
    asked = started.given.when(done("1.3")).then("actions.finished").leaves("awaiting_approval", "user")
    assert review_target(asked.session) == "actions"
    asked.given.when(c.Start(), "executor", work=Work(service="executor", version=2)).refused(OutOfTurn)
    first = asked.given.when(allow("1.1")).then("approval.given", action_id="1.1").leaves("awaiting_approval", "user")
    last = first.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")
    last.given.when(c.Start()).then("actions.started", actions=first_attempts("1.1", "1.2"))


@pytest.mark.parametrize("last", [allow("1.2"), c.Reject(action_id="1.2")])
def test_changes_are_decided_on_while_reads_run_and_start_after_them(last: StoryLine) -> None:
    allowed = given(*NEED_APPROVAL, c.Start()).when(allow("1.1")).then("approval.given").leaves("executing", "nobody")
    decided = given(last, begin=allowed.session).session
    assert [a.spec.id for a in running_actions(decided)] == ["1.3"]
    read = given(begin=decided).when(done("1.3")).then("actions.finished").leaves("executing", "executor")
    changes = ("1.1",) if isinstance(last, c.Reject) else ("1.1", "1.2")
    assert next_batch_ids(read.session) == changes
    given(c.Stop(), begin=decided).when(done("1.3")).then("actions.finished").leaves("resting", "nobody")


def test_once_all_is_declined_before_reads_start_only_they_run() -> None:
    declined = given(*NEED_APPROVAL, c.Reject(action_id="1.1"), c.Reject(action_id="1.2"))
    started = declined.when(c.Start()).then("actions.started", actions=first_attempts("1.3"))
    started.given.when(done("1.3")).then("actions.finished").leaves("verifying", "verifier")


def test_a_denied_action_and_its_dependents_do_not_run() -> None:
    story = (*AGENTFLOW, turn(act("1.1", ask="a write"), act("1.2", "1.1"), act("1.3", ask="a write")))
    result = (
        given(*story, allow("1.3"))
        .when(c.Reject(action_id="1.1", reason="not this"))
        .then("approval.denied", reason="not this")
    )
    result.leaves("executing", "executor")
    assert [status(result.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "denied",
        "skipped",
        "approved",
    ]
    assert next_batch_ids(result.session) == ("1.3",)


def test_approving_one_of_several_actions_needs_its_id() -> None:
    single = given(*AGENTFLOW, turn(act("1.1", ask="a write")))
    single.when(c.Approve(version=2)).then("approval.given", action_id="1.1").leaves("executing", "executor")
    single.when(c.Reject()).then("approval.denied", action_id="1.1").leaves("verifying", "verifier")
    given(*NEED_APPROVAL, *LOOKED).when(c.Approve(version=4)).refused(Invalid, "name one")
    given(*NEED_APPROVAL).when(c.Approve(version=2, action_id="1.3")).refused(OutOfTurn, "No action 1.3 waits")
    twice = c.Approve(version=3, action_id="1.1")
    given(*NEED_APPROVAL, allow("1.1")).when(twice).refused(AlreadyDone, "(1.1) is approved already")
    other = twice.model_copy(update={"hash": canonical_hash("other arguments")})
    given(*NEED_APPROVAL, allow("1.1")).when(other).refused(OutOfTurn, "No action 1.1 waits")
    given(*AGENTFLOW, turn()).when(c.Approve(version=2, action_id="1.1")).refused(OutOfTurn)
    given(*AGENTFLOW, turn()).when(c.Reject(action_id="1.1")).refused(OutOfTurn)


def test_an_approval_is_bound_to_the_actions_arguments() -> None:
    given(*NEED_APPROVAL).when(c.Approve(version=2, action_id="1.1", hash="0" * 64)).refused(Stale, "arguments differ")


def test_an_approval_of_an_earlier_version_does_not_count() -> None:
    steps = (Step(text="refund", tool="refund", arguments={"id": 7}),)
    path = c.DraftPlan(goal="g", steps=steps, kind="path", path=PathPlan(nodes=("refund",)))
    plan = (request("flow"), path, approve, c.Start(), done())
    story = (*plan, verdict("continue"), turn(act("2.1", ask="a write")))
    given(*story).when(c.Approve(version=2)).refused(Stale, "has been decided")
    given(*story).when(c.Approve(version=7)).then("approval.given", action_id="2.1")


def test_a_later_batch_needs_approval_only_when_it_is_next() -> None:
    story = (*AGENTFLOW, turn(act("1.1"), act("1.2", "1.1", ask="a write")))
    result = given(*story, c.Start()).when(done("1.1")).then("actions.finished").leaves("awaiting_approval", "user")
    result.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")


def test_editing_the_plan_drops_actions_that_wait_for_approval() -> None:
    story = (request("flow"), *A_PATH, c.Start(), done(), verdict("continue"))
    waiting = given(*story, turn(act("2.1", ask="a write")))
    edit = c.EditPlan(base=2, steps=(Step(text="other"),))
    result = waiting.when(edit).then("plan.edited").leaves("awaiting_approval", "user", turn=None)
    assert review_target(result.session) == "text"


def test_replanning_while_actions_wait_for_approval_drafts_another_plan() -> None:
    story = (request("flow"), *A_PATH, c.Start(), done(), verdict("continue"))
    waiting = given(*story, turn(act("2.1", ask="a write")))
    waiting.when(c.Reject(replan=True)).then("plan.rejected").leaves("planning", "planner", turn=None)


def test_a_session_whose_plan_approval_expired_rests_and_a_retry_restores_the_review() -> None:
    result = given(say(), draft()).when(c.Expire(requested_version=2)).then("approval.expired", denied=())
    result.leaves("resting", "nobody", rest_reason="stopped")
    result.given.when(c.Retry()).then("session.retried").leaves("awaiting_approval", "user", since_version=4)


# --- skipped and uncertain actions, questions


def test_an_open_action_can_be_skipped() -> None:
    result = given(*TWO_BATCHES).when(c.Skip(action_id="1.1")).then("action.skipped").leaves("executing", "executor")
    assert [status(result.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "skipped",
        "planned",
        "skipped",
    ]
    given(*TWO_BATCHES).when(c.Skip(action_id="z")).refused(OutOfTurn, "There is no action z now.")
    given(*TWO_BATCHES, c.Start()).when(c.Skip(action_id="1.1")).refused(OutOfTurn, "started")
    given(*TWO_BATCHES, c.Start()).when(c.Skip(action_id="1.3")).then("action.skipped").leaves("executing", "nobody")
    last = given(*AGENTFLOW, turn(act("1.1", ask="a write"))).when(c.Skip(action_id="1.1")).then("action.skipped")
    last.leaves("verifying", "verifier")


@pytest.mark.parametrize(
    ("reply", "new_status", "phase", "due"),
    [
        (HAPPENED, "finished", "verifying", "verifier"),
        (AGAIN, "approved", "executing", "executor"),
        (LEAVE, "uncertain", "verifying", "verifier"),
    ],
)
def test_an_uncertain_action_asks_the_user(reply: str, new_status: str, phase: str, due: str) -> None:
    result = given(*ONE_WRITE).when(UNCERTAIN[-1]).then("action.uncertain").leaves("awaiting_input", "user")
    assert result.session.question is not None
    assert [option.key for option in result.session.question.options] == ["happened", "again", "leave"]
    result.given.when(c.Answer(text="no idea")).refused(Invalid, LEAVE)
    after = result.given.when(say(reply)).then("question.answered", question_id="1.1").leaves(phase, due)
    assert status(after.session, "1.1") == new_status


def test_an_uncertain_read_counts_as_failed_and_asks_no_question() -> None:
    result = given(*STARTED).when(UNCERTAIN[-1]).then("action.uncertain").leaves("verifying", "verifier")
    assert status(result.session, "1.1") == "failed"


def test_the_user_is_asked_about_uncertain_actions_one_by_one() -> None:
    reports = [c.ReportUncertain(action_id=action_id, reason="?") for action_id in ("1.1", "1.2")]
    first = given(*TWO_WRITES, *reports)
    assert first.session.question is not None
    assert first.session.question.action_id == "1.1"
    result = first.when(say(AGAIN)).then("question.answered").leaves("awaiting_input", "user")
    result.given.when(say(LEAVE)).then("question.answered").leaves("executing", "executor")


def test_a_late_outcome_resolves_an_uncertain_action() -> None:
    result = given(*UNCERTAIN).when(done()).then("actions.finished").leaves("verifying", "verifier", question=None)
    assert status(result.session, "1.1") == "finished"
    given(*UNCERTAIN).when(UNCERTAIN[-1]).refused(OutOfTurn, "not running")


def test_a_late_outcome_leaves_the_question_about_another_action_open() -> None:
    reports = [c.ReportUncertain(action_id=action_id, reason="?") for action_id in ("1.1", "1.2")]
    result = given(*TWO_WRITES, *reports).when(done("1.2")).then("actions.finished").leaves("awaiting_input", "user")
    assert result.session.question is not None
    assert result.session.question.action_id == "1.1"


def test_an_outcome_of_an_earlier_attempt_is_refused() -> None:
    again = given(*UNCERTAIN, say(AGAIN)).when(c.Start())
    second = again.then("actions.started", actions=(ActionAttempt(action_id="1.1", attempt=2),)).given
    second.when(done()).refused(OutOfTurn, "started again")
    second.when(c.ReportUncertain(action_id="1.1", reason="?")).refused(OutOfTurn, "started again")
    second.when(finish_action(attempt=2)).then("actions.finished").leaves("verifying", "verifier")


@pytest.mark.parametrize("before", [(*AGENTFLOW, turn()), (*STARTED, done()), (*STARTED, done(), verdict(), answer())])
def test_an_outcome_without_a_start_is_refused(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(done()).refused(OutOfTurn, "not running")
    given(*before).when(c.ReportUncertain(action_id="zz", reason="?")).refused(OutOfTurn, "zz is not running")


def test_a_retry_asks_about_an_outcome_that_became_uncertain_after_the_stop() -> None:
    result = given(*ONE_WRITE, c.Stop()).when(UNCERTAIN[-1]).then("action.uncertain").leaves("resting", "nobody")
    result.given.when(c.Retry()).then("session.retried").leaves("awaiting_input", "user")


def test_a_retry_after_a_stop_restores_the_open_question() -> None:
    given(*UNCERTAIN, c.Stop()).when(c.Retry()).then("session.retried").leaves("awaiting_input", "user")


def test_the_answer_to_an_actions_question_is_its_result() -> None:
    ask = c.Ask(text="which order?", about="action", action_id="1.1")
    result = given(*TWO_BATCHES).when(ask).then("question.asked", question_id="1.1").leaves("awaiting_input", "user")
    answered = result.given.when(c.Answer(text="order 7")).then("question.answered", question_id="1.1")
    after = answered.leaves("executing", "executor")
    action = find_action(after.session, "1.1")
    assert action is not None
    assert (action.status, action.result) == ("finished", "order 7")
    assert next_batch_ids(after.session) == ("1.2",)


@pytest.mark.parametrize(
    ("before", "ask", "why"),
    [
        (TWO_BATCHES, {"about": "action", "action_id": "1.3"}, Invalid),
        (TWO_BATCHES, {"about": "action"}, Invalid),
        ((*TWO_BATCHES, c.Start()), {"about": "action", "action_id": "1.1"}, OutOfTurn),
        ((*TWO_BATCHES, c.Start()), {"about": "budget"}, OutOfTurn),
        (AGENTFLOW, {"about": "action", "action_id": "1.1"}, OutOfTurn),
    ],
)
def test_an_action_can_ask_only_before_its_batch_starts(
    before: tuple[StoryLine, ...], ask: dict[str, Any], why: type[Stale]
) -> None:
    given(*before).when(c.Ask.model_validate({"text": "?"} | ask)).refused(why)


def test_a_batch_runs_after_the_spent_budget_is_raised() -> None:
    story = (*TWO_BATCHES, c.Ask(text="spent", about="budget"))
    given(*story).when(c.RaiseBudget(tokens=1)).then("budget.raised").leaves("executing", "executor")


def test_no_batch_starts_if_none_is_ready() -> None:
    """In a faulty log the executor may be due although no action can run."""
    stuck = given(*AGENTFLOW, turn(), c.Start(), done()).session
    stuck = replace(stuck, phase="executing", work=Work(service="executor", version=4))
    given(begin=stuck).when(c.Start()).refused(OutOfTurn, "No batch is ready")


# --- verdicts


@pytest.mark.parametrize(
    ("next_action", "phase", "due", "problems"),
    [
        ("complete", "answering", "generator", ()),
        ("continue", "planning", "planner", ()),
        ("retry", "planning", "planner", ("seen",)),
        ("escalate", "escalated", "user", ()),
    ],
)
def test_the_verdict_decides_the_next_phase(next_action: str, phase: str, due: str, problems: tuple[str, ...]) -> None:
    result = given(*STARTED, done()).when(verdict(next_action)).then("turn.verified", turn=1, next_action=next_action)
    result.leaves(phase, due, problems=problems)
    assert result.session.turn is not None
    assert result.session.turn.verdict is not None


def test_the_session_rests_after_the_answer() -> None:
    result = given(*STARTED, done(), verdict()).when(answer()).then("answer.given", evidence=("1.1",))
    result.leaves("resting", "nobody", rest_reason="answered", text="It is done.", confidence=0.9, evidence=("1.1",))
    after = (
        result.given.when(new_request("and my invoice?"))
        .then("message.received")
        .leaves("planning", "planner", text="")
    )
    assert (after.session.answer.confidence, after.session.answer.evidence) == (0, ())


def test_a_user_takes_over_an_escalated_session_or_hands_it_back() -> None:
    escalated = given(*STARTED, done(), verdict("escalate"))
    take = c.TakeOver(sub_goal="by hand", actions=(act("2.1", effect="write"),))
    result = escalated.when(take).then("turn.requested", turn=2, actor="user:ann").leaves("executing", "executor")
    assert result.session.turn is not None
    assert result.session.turn.by == "user:ann"
    escalated.when(say("try the other")).then("message.received").leaves("planning", "planner")
    escalated.when(c.TakeOver(sub_goal="by hand", actions=())).refused(Invalid, "at least one action")
    given(*AGENTFLOW).when(take).refused(OutOfTurn, "escalated")


def test_handing_back_makes_the_planner_due_even_if_the_session_has_code() -> None:
    code = (*TO_DONE[:-1], c.Reject(), c.Stop(), c.ChooseWorkflow(workflow="agentflow"), new_request("order"))
    escalated = (*code, turn(), c.Start(), done(), verdict("escalate"))
    given(*escalated).when(say("go on")).then("message.received").leaves("planning", "planner")


# --- plans with tool calls


def steps_plan() -> tuple[StoryLine, ...]:
    steps = (Step(text="find", tool="orders", arguments={"id": 7}), Step(text="tell", tool="note"))
    return (request("flow"), c.DraftPlan(goal="g", steps=steps, kind="path", path=PathPlan(nodes=("orders", "note"))))


def test_an_approved_path_runs_step_by_step() -> None:
    result = given(*steps_plan()).when(approve).then("plan.approved").leaves("executing", "executor", turns=1)
    assert result.session.turn is not None
    first, second = (action.spec for action in result.session.turn.actions)
    assert (first.id, first.tool, first.arguments, first.effect, first.depends_on) == (
        "1.1", "orders", {"id": 7}, "read", ())  # fmt: skip
    assert (second.id, second.tool, second.depends_on) == ("1.2", "note", ("1.1",))
    assert result.session.plan is not None
    assert result.session.plan.status == "executing"


@pytest.mark.parametrize(
    ("next_action", "verdict_status", "plan_status"),
    [
        ("complete", "success", "completed"),
        ("complete", "partial", "completed"),
        ("complete", "failure", "failed"),
        ("escalate", "failure", "failed"),
        ("continue", "success", "executing"),
    ],
)
def test_the_verdict_decides_the_plans_status(next_action: str, verdict_status: str, plan_status: str) -> None:
    story = (*steps_plan(), approve, c.Start(), done("1.1"), c.Start(), done("1.2"))
    result = given(*story).when(verdict(next_action, verdict_status)).then("turn.verified")
    assert result.session.plan is not None
    assert result.session.plan.status == plan_status


def test_the_limits_of_a_turn_apply_to_new_turns_but_not_to_stored_events() -> None:
    actions = tuple(act(f"1.{number}") for number in range(51))
    given(*AGENTFLOW).when(turn(*actions)).refused(Invalid, "at most 50 actions")
    given(*AGENTFLOW).when(turn(sub_goals=("look",) * 21)).refused(Invalid, "at most 20 sub-goals")
    planned = given(*AGENTFLOW).when(turn(*actions[:50])).then("turn.planned").event
    assert isinstance(planned, facts.TurnPlanned)
    larger = planned.model_dump() | {"actions": [spec.model_dump() for spec in actions], "sub_goals": ["x"] * 50}
    assert len(facts.TurnPlanned.model_validate(larger).actions) == 51
