"""Turns: waves of actions with dependencies and approvals, outcomes, doubts, verdicts, people who take over."""

from dataclasses import replace
from typing import Any

import pytest

from parley.events import facts
from parley.events.hashing import canonical_hash
from parley.events.values import ActionAttempt, ActionSpec, PathPlan, Step
from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.errors import AlreadyDone, Invalid, OutOfTurn, Stale
from shared.domain.session import reviewing
from shared.domain.waves import find
from shared.story import finish
from tests.unit.domain.spec import (
    AGAIN,
    HAPPENED,
    LEAVE,
    TO_DONE,
    StoryLine,
    act,
    allow,
    anew,
    answer,
    approve,
    done,
    draft,
    feedback,
    given,
    request,
    runs,
    say,
    status,
    turn,
    verdict,
    waves,
)

FLOW = (request("agentflow"),)
PAIR = (*FLOW, turn(act("1.1"), act("1.2"), act("1.3", "1.1", "1.2")))
GUARDED = (*FLOW, turn(act("1.1", ask="a write"), act("1.2", ask="a write"), act("1.3")))
A_PATH = (draft(kind="path", path=PathPlan(nodes=("note",))), approve)
STARTED = (*FLOW, turn(), c.Start())
FREE = request("agentflow", approval="never")
CHANGES = (FREE, turn(act("1.1", effect="write"), act("1.2", effect="write")), c.Start())
WRITES = (FREE, turn(act("1.1", effect="write")), c.Start())
DOUBT = (*WRITES, c.Uncertain(action_id="1.1", reason="the worker died"))


def test_a_turn_runs_in_waves() -> None:
    planned = given(*FLOW).when(PAIR[1]).then("turn.planned", turn=1).leaves("executing", "executor")
    assert waves(planned.session) == ("1.1", "1.2")
    started = planned.given.when(c.Start()).then("actions.started", actions=runs("1.1", "1.2"))
    started.leaves("executing", "nobody")
    first = started.given.when(done("1.2")).then("actions.finished").leaves("executing", "nobody")
    second = first.given.when(done("1.1")).then("actions.finished").leaves("executing", "executor")
    last = second.given.when(c.Start()).then("actions.started", actions=runs("1.3"))
    last.given.when(done("1.3")).then("actions.finished").leaves("verifying", "verifier")


def test_a_wave_is_started_once() -> None:
    begun = given(*PAIR, c.Start())
    begun.when(c.Start()).refused(OutOfTurn, "running already")
    given(*PAIR, c.Start(), done("1.1")).when(c.Start()).refused(OutOfTurn, "running already")


def test_what_needs_a_failed_action_is_skipped_and_so_on() -> None:
    story = (*FLOW, turn(act("1.1"), act("1.2", "1.1"), act("1.3", "1.2"), act("1.4")), c.Start(), done("1.4"))
    told = given(*story).when(done("1.1", ok=False)).then("actions.finished").leaves("verifying", "verifier")
    assert [status(told.session, one) for one in ("1.1", "1.2", "1.3", "1.4")] == [
        "failed",
        "skipped",
        "skipped",
        "finished",
    ]


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
    given(*FLOW).when(turn(*actions)).refused(Invalid, text)
    escalated = (*FLOW, turn(), c.Start(), done(), verdict("escalate"))
    given(*escalated).when(c.TakeOver(sub_goal="x", actions=actions)).refused(Invalid, text)


def test_an_action_has_an_id_that_no_other_of_the_session_has() -> None:
    again = given(*STARTED, c.Stop(), anew("else")).when(turn(act("1.1"), act("x", "1.1"))).then("turn.planned")
    assert waves(again.session) == ("2.1",)
    assert again.session.turn is not None
    assert [a.spec.depends_on for a in again.session.turn.actions] == [(), ("2.1",)]
    assert [a.spec.id for a in again.session.left_running] == ["1.1"]


def test_a_turn_in_a_conversation_is_refused() -> None:
    given(say()).when(turn()).refused(OutOfTurn, "only approved code")


# --- approvals


def test_all_approvals_of_a_wave_come_before_any_of_it_starts() -> None:
    asked = given(*FLOW).when(GUARDED[1]).then("turn.planned").leaves("awaiting_approval", "user")
    assert reviewing(asked.session) == "actions"
    asked.given.when(c.Start(), "executor", work=Work(service="executor", version=2)).refused(OutOfTurn)
    first = asked.given.when(allow("1.1")).then("approval.given", action_id="1.1").leaves("awaiting_approval", "user")
    last = first.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")
    last.given.when(c.Start()).then("actions.started", actions=runs("1.1", "1.2", "1.3"))


def test_a_denied_action_is_not_run_nor_what_needs_it() -> None:
    story = (*FLOW, turn(act("1.1", ask="a write"), act("1.2", "1.1"), act("1.3")))
    told = given(*story).when(c.Reject(action_id="1.1", reason="not this")).then("approval.denied", reason="not this")
    told.leaves("executing", "executor")
    assert [status(told.session, one) for one in ("1.1", "1.2", "1.3")] == ["denied", "skipped", "planned"]
    assert waves(told.session) == ("1.3",)


def test_a_single_waiting_action_needs_no_name_but_several_do() -> None:
    single = given(*FLOW, turn(act("1.1", ask="a write")))
    single.when(c.Approve(version=2)).then("approval.given", action_id="1.1").leaves("executing", "executor")
    single.when(c.Reject()).then("approval.denied", action_id="1.1").leaves("verifying", "verifier")
    given(*GUARDED).when(c.Approve(version=2)).refused(Invalid, "name one")
    given(*GUARDED).when(c.Approve(version=2, action_id="1.3")).refused(OutOfTurn, "No action 1.3 waits")
    twice = c.Approve(version=3, action_id="1.1")
    given(*GUARDED, allow("1.1")).when(twice).refused(AlreadyDone, "(1.1) is approved already")
    other = twice.model_copy(update={"hash": canonical_hash("other arguments")})
    given(*GUARDED, allow("1.1")).when(other).refused(OutOfTurn, "No action 1.1 waits")
    given(*FLOW, turn()).when(c.Approve(version=2, action_id="1.1")).refused(OutOfTurn)
    given(*FLOW, turn()).when(c.Reject(action_id="1.1")).refused(OutOfTurn)


def test_an_action_s_approval_is_bound_to_its_arguments() -> None:
    given(*GUARDED).when(c.Approve(version=2, action_id="1.1", hash="0" * 64)).refused(Stale, "arguments differ")


def test_the_approval_of_an_earlier_screen_does_not_pass_for_this_one() -> None:
    steps = (Step(text="refund", tool="refund", arguments={"id": 7}),)
    path = c.DraftPlan(goal="g", steps=steps, kind="path", path=PathPlan(nodes=("refund",)))
    plan = (request("flow"), path, approve, c.Start(), done())
    story = (*plan, verdict("continue"), turn(act("2.1", ask="a write")))
    given(*story).when(c.Approve(version=2)).refused(Stale, "has been decided")
    given(*story).when(c.Approve(version=7)).then("approval.given", action_id="2.1")


def test_a_later_wave_asks_when_it_is_its_turn() -> None:
    story = (*FLOW, turn(act("1.1"), act("1.2", "1.1", ask="a write")))
    told = given(*story, c.Start()).when(done("1.1")).then("actions.finished").leaves("awaiting_approval", "user")
    told.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")


def test_words_in_an_approval_are_feedback_and_nothing_runs() -> None:
    told = given(*GUARDED, allow("1.1")).when(feedback("cancel only one")).then("message.received", intent="feedback")
    told.leaves("planning", "planner", turn=None, feedback=("cancel only one",))


def test_editing_the_plan_while_actions_wait_puts_them_aside() -> None:
    story = (request("flow"), *A_PATH, c.Start(), done(), verdict("continue"))
    waiting = given(*story, turn(act("2.1", ask="a write")))
    edit = c.EditPlan(base=2, steps=(Step(text="other"),))
    told = waiting.when(edit).then("plan.edited").leaves("awaiting_approval", "user", turn=None)
    assert reviewing(told.session) == "text"


def test_replanning_while_actions_wait_wants_another_plan() -> None:
    story = (request("flow"), *A_PATH, c.Start(), done(), verdict("continue"))
    waiting = given(*story, turn(act("2.1", ask="a write")))
    waiting.when(c.Reject(replan=True)).then("plan.rejected").leaves("planning", "planner", turn=None)


def test_nobody_decided_in_time() -> None:
    actions = given(*GUARDED, allow("1.1"))
    assert actions.session.since_version == 2
    actions.when(c.Expire(requested_version=1)).refused(OutOfTurn, "has been decided")
    told = actions.when(c.Expire(requested_version=2)).then("approval.expired", requested_version=2, denied=("1.2",))
    told.leaves("executing", "executor")
    assert [status(told.session, one) for one in ("1.1", "1.2", "1.3")] == ["approved", "denied", "planned"]
    told.given.when(c.Expire(requested_version=2)).refused(OutOfTurn)


def test_a_plan_that_nobody_decided_about_rests_and_comes_back() -> None:
    told = given(say(), draft()).when(c.Expire(requested_version=2)).then("approval.expired", denied=())
    told.leaves("resting", "nobody", rest_reason="stopped")
    told.given.when(c.Retry()).then("session.retried").leaves("awaiting_approval", "user", since_version=4)


# --- skip, doubt, questions


def test_what_has_not_begun_can_be_skipped() -> None:
    told = given(*PAIR).when(c.Skip(action_id="1.1")).then("action.skipped").leaves("executing", "executor")
    assert [status(told.session, one) for one in ("1.1", "1.2", "1.3")] == ["skipped", "planned", "skipped"]
    given(*PAIR).when(c.Skip(action_id="z")).refused(Invalid, "no action z")
    given(*PAIR, c.Start()).when(c.Skip(action_id="1.1")).refused(OutOfTurn, "started")
    given(*PAIR, c.Start()).when(c.Skip(action_id="1.3")).then("action.skipped").leaves("executing", "nobody")
    last = given(*FLOW, turn(act("1.1", ask="a write"))).when(c.Skip(action_id="1.1")).then("action.skipped")
    last.leaves("verifying", "verifier")


@pytest.mark.parametrize(
    ("reply", "becomes", "phase", "due"),
    [
        (HAPPENED, "finished", "verifying", "verifier"),
        (AGAIN, "approved", "executing", "executor"),
        (LEAVE, "uncertain", "verifying", "verifier"),
    ],
)
def test_an_action_in_doubt_asks_the_person(reply: str, becomes: str, phase: str, due: str) -> None:
    told = given(*WRITES).when(DOUBT[-1]).then("action.uncertain").leaves("awaiting_input", "user")
    assert told.session.question is not None
    assert [option.key for option in told.session.question.options] == ["happened", "again", "leave"]
    told.given.when(say("no idea")).refused(Invalid, LEAVE)
    after = told.given.when(say(reply)).then("question.answered", question_id="1.1").leaves(phase, due)
    assert status(after.session, "1.1") == becomes


def test_a_read_of_which_nobody_knows_has_failed_and_asks_nobody() -> None:
    told = given(*STARTED).when(DOUBT[-1]).then("action.uncertain").leaves("verifying", "verifier")
    assert status(told.session, "1.1") == "failed"


def test_doubts_are_asked_one_after_the_other() -> None:
    doubts = [c.Uncertain(action_id=one, reason="?") for one in ("1.1", "1.2")]
    first = given(*CHANGES, *doubts)
    assert first.session.question is not None
    assert first.session.question.action_id == "1.1"
    told = first.when(say(AGAIN)).then("question.answered").leaves("awaiting_input", "user")
    told.given.when(say(LEAVE)).then("question.answered").leaves("executing", "executor")


def test_the_truth_that_comes_late_settles_the_doubt() -> None:
    told = given(*DOUBT).when(done()).then("actions.finished").leaves("verifying", "verifier", question=None)
    assert status(told.session, "1.1") == "finished"
    given(*DOUBT).when(DOUBT[-1]).refused(OutOfTurn, "not running")


def test_one_truth_of_two_leaves_the_other_question_open() -> None:
    doubts = [c.Uncertain(action_id=one, reason="?") for one in ("1.1", "1.2")]
    told = given(*CHANGES, *doubts).when(done("1.2")).then("actions.finished").leaves("awaiting_input", "user")
    assert told.session.question is not None
    assert told.session.question.action_id == "1.1"


def test_the_outcome_of_the_first_attempt_is_not_that_of_the_second() -> None:
    again = given(*DOUBT, say(AGAIN)).when(c.Start())
    second = again.then("actions.started", actions=(ActionAttempt(action_id="1.1", attempt=2),)).given
    second.when(done()).refused(OutOfTurn, "started again")
    second.when(c.Uncertain(action_id="1.1", reason="?")).refused(OutOfTurn, "started again")
    second.when(finish(attempt=2)).then("actions.finished").leaves("verifying", "verifier")


@pytest.mark.parametrize("before", [(*FLOW, turn()), (*STARTED, done()), (*STARTED, done(), verdict(), answer())])
def test_an_outcome_without_a_start_is_refused(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(done()).refused(OutOfTurn, "not running")
    given(*before).when(c.Uncertain(action_id="zz", reason="?")).refused(OutOfTurn, "zz is not running")


def test_doubt_after_a_stop_is_recorded_and_asked_on_retry() -> None:
    told = given(*WRITES, c.Stop()).when(DOUBT[-1]).then("action.uncertain").leaves("resting", "nobody")
    told.given.when(c.Retry()).then("session.retried").leaves("awaiting_input", "user")


def test_a_stop_at_a_doubt_comes_back_to_it() -> None:
    given(*DOUBT, c.Stop()).when(c.Retry()).then("session.retried").leaves("awaiting_input", "user")


def test_a_question_is_an_action_whose_result_is_the_answer() -> None:
    ask = c.Ask(text="which order?", about="action", action_id="1.1")
    told = given(*PAIR).when(ask).then("question.asked", question_id="1.1").leaves("awaiting_input", "user")
    heard = told.given.when(say("order 7")).then("question.answered", question_id="1.1").leaves("executing", "executor")
    action = find(heard.session, "1.1")
    assert action is not None
    assert (action.status, action.result) == ("finished", "order 7")
    assert waves(heard.session) == ("1.2",)


@pytest.mark.parametrize(
    ("before", "ask", "why"),
    [
        (PAIR, {"about": "action", "action_id": "1.3"}, Invalid),
        (PAIR, {"about": "action"}, Invalid),
        ((*PAIR, c.Start()), {"about": "action", "action_id": "1.1"}, OutOfTurn),
        ((*PAIR, c.Start()), {"about": "budget"}, OutOfTurn),
        (FLOW, {"about": "action", "action_id": "1.1"}, OutOfTurn),
    ],
)
def test_questions_of_actions_come_before_their_wave(
    before: tuple[StoryLine, ...], ask: dict[str, Any], why: type[Stale]
) -> None:
    given(*before).when(c.Ask.model_validate({"text": "?"} | ask)).refused(why)


def test_a_budget_that_ends_before_a_wave_asks_and_goes_on_with_it() -> None:
    story = (*PAIR, c.Ask(text="spent", about="budget"))
    given(*story).when(c.RaiseBudget(tokens=1)).then("budget.raised").leaves("executing", "executor")


def test_no_wave_starts_where_none_is_ready() -> None:
    """A log written by hand may hold an executor's work without anything to run."""
    stuck = given(*FLOW, turn(), c.Start(), done()).session
    stuck = replace(stuck, phase="executing", work=Work(service="executor", version=4))
    given(begin=stuck).when(c.Start()).refused(OutOfTurn, "No wave is ready")


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
def test_the_verdict_on_a_turn(next_action: str, phase: str, due: str, problems: tuple[str, ...]) -> None:
    told = given(*STARTED, done()).when(verdict(next_action)).then("turn.verified", turn=1, next_action=next_action)
    told.leaves(phase, due, problems=problems)
    assert told.session.turn is not None
    assert told.session.turn.verdict is not None


def test_the_answer_rests() -> None:
    told = given(*STARTED, done(), verdict()).when(answer()).then("answer.given", evidence=("1.1",))
    told.leaves("resting", "nobody", rest_reason="answered", text="It is done.", confidence=0.9, evidence=("1.1",))
    assert told.given.session.words.earlier == ()
    after = told.given.when(anew("and my invoice?")).then("message.received").leaves("planning", "planner", text="")
    assert (after.session.answer.confidence, after.session.answer.evidence) == (0, ())
    assert after.session.words.earlier[0].outcome == "answered: It is done."


def test_the_turns_of_a_request_are_bounded_and_end_with_an_answer() -> None:
    first = (request("agentflow", max_turns=2), turn(), c.Start(), done(), verdict("continue"))
    last = (turn(act("2.1")), c.Start(), done("2.1"))
    given(*first, *last).when(verdict("retry")).then("turn.verified").leaves("answering", "generator")
    given(*first, *last).when(verdict("escalate")).then("turn.verified").leaves("escalated", "user")


def test_the_next_request_has_all_its_turns() -> None:
    ended = (request("agentflow", max_turns=1), turn(), c.Start(), done(), verdict(), answer())
    second = (anew("next"), turn(act("2.1")), c.Start(), done("2.1"))
    given(*ended, *second).when(verdict("continue")).then("turn.verified").leaves("answering", "generator")
    more = (request("agentflow", max_turns=2), turn(), c.Start(), done(), verdict(), answer())
    given(*more, *second).when(verdict("continue")).then("turn.verified").leaves("planning", "planner")


def test_a_person_takes_over_or_hands_back() -> None:
    escalated = given(*STARTED, done(), verdict("escalate"))
    take = c.TakeOver(sub_goal="by hand", actions=(act("2.1", effect="write"),))
    told = escalated.when(take).then("turn.requested", turn=2, actor="user:ann").leaves("executing", "executor")
    assert told.session.turn is not None
    assert told.session.turn.by == "user:ann"
    escalated.when(say("try the other")).then("message.received").leaves("planning", "planner")
    escalated.when(c.TakeOver(sub_goal="by hand", actions=())).refused(Invalid, "at least one action")
    given(*FLOW).when(take).refused(OutOfTurn, "escalated")


def test_handing_back_goes_to_the_planner_whatever_code_lies_there() -> None:
    code = (*TO_DONE[:-1], c.Reject(), c.Stop(), c.ChooseWorkflow(workflow="agentflow"), anew("order"))
    escalated = (*code, turn(), c.Start(), done(), verdict("escalate"))
    given(*escalated).when(say("go on")).then("message.received").leaves("planning", "planner")


# --- plans that act


def steps_plan() -> tuple[StoryLine, ...]:
    steps = (Step(text="find", tool="orders", arguments={"id": 7}), Step(text="tell", tool="note"))
    return (request("flow"), c.DraftPlan(goal="g", steps=steps, kind="path", path=PathPlan(nodes=("orders", "note"))))


def test_an_approved_path_is_carried_out_step_by_step() -> None:
    told = given(*steps_plan()).when(approve).then("plan.approved").leaves("executing", "executor", turns=1)
    assert told.session.turn is not None
    first, second = (action.spec for action in told.session.turn.actions)
    assert (first.id, first.tool, first.arguments, first.effect, first.depends_on) == (
        "1.1", "orders", {"id": 7}, "read", ())  # fmt: skip
    assert (second.id, second.tool, second.depends_on) == ("1.2", "note", ("1.1",))
    assert told.session.plan is not None
    assert told.session.plan.status == "executing"


@pytest.mark.parametrize(
    ("next_action", "how", "becomes"),
    [
        ("complete", "success", "completed"),
        ("complete", "partial", "completed"),
        ("complete", "failure", "failed"),
        ("escalate", "failure", "failed"),
        ("continue", "success", "executing"),
    ],
)
def test_a_plan_ends_with_the_verdict_on_it(next_action: str, how: str, becomes: str) -> None:
    story = (*steps_plan(), approve, c.Start(), done("1.1"), c.Start(), done("1.2"))
    told = given(*story).when(verdict(next_action, how)).then("turn.verified")
    assert told.session.plan is not None
    assert told.session.plan.status == becomes


def test_a_plan_cancelled_while_it_is_carried_out_keeps_its_outcomes() -> None:
    work = given(*steps_plan(), approve).session.work
    told = given(*steps_plan(), approve, c.Start()).when(c.CancelPlan()).then("plan.cancelled", plan_version=2)
    told.leaves("resting", "nobody", rest_reason="stopped")
    assert [status(told.session, one) for one in ("1.1", "1.2")] == ["started", "skipped"]
    told.given.when(done("1.1"), "executor", work=work).then("actions.finished").leaves("resting", "nobody")


def test_a_turn_is_not_larger_than_today_s_limits_though_an_event_may_be() -> None:
    many = tuple(act(f"1.{number}") for number in range(51))
    given(*FLOW).when(turn(*many)).refused(Invalid, "at most 50 actions")
    given(*FLOW).when(turn(sub_goals=("look",) * 21)).refused(Invalid, "at most 20 sub-goals")
    planned = given(*FLOW).when(turn(*many[:50])).then("turn.planned").event
    assert isinstance(planned, facts.TurnPlanned)
    larger = planned.model_dump() | {"actions": [spec.model_dump() for spec in many], "sub_goals": ["x"] * 50}
    assert len(facts.TurnPlanned.model_validate(larger).actions) == 51
