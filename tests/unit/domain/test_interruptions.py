"""Whatever a person may do while work goes on: steer, stop, retry, pause, be asked, run out of budget."""

from typing import Any

import pytest

from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.decide import AnyCommand, due
from shared.domain.errors import Invalid, OutOfTurn, Stale
from shared.domain.evolve import evolve
from shared.domain.people import GIVE_UP, RAISE
from shared.events import facts
from tests.unit.domain.spec import (
    ANN,
    NOON,
    NOTES,
    OLD_WORK,
    RUN_CODE,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    Told,
    act,
    answer,
    approve,
    checked,
    done,
    draft,
    edit,
    edit_code,
    given,
    program,
    reject,
    request,
    say,
    spend,
    status,
    turn,
    verdict,
)

CODING = (*TO_PLAN, approve)
CHECKING = (*CODING, program())
EXECUTING = (request("agentflow"), turn())
STARTED = (*EXECUTING, c.Start())
VERIFYING = (*STARTED, done())
ANSWERING = (*VERIFYING, verdict())
ESCALATED = (*VERIFYING, verdict("escalate"))
ASKED = (say(), c.Ask(text="floats?"))
TO_ALLOW = (request("agentflow"), turn(act("1.1", ask="a write")))
AT_WORK = [
    ((say(),), "planning", "planner"),
    (CODING, "coding", "generator"),
    (CHECKING, "verifying", "verifier"),
    (EXECUTING, "executing", "executor"),
    (VERIFYING, "verifying", "verifier"),
    (ANSWERING, "answering", "generator"),
]


# --- a word during work


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
def test_a_word_during_work_is_recorded_and_nobody_is_due(before: tuple[Told, ...], phase: str, service: str) -> None:
    told = given(*before).when(say("and floats")).then("message.received", intent="steer")
    told.leaves(phase, "nobody", unread=("and floats",))
    assert told.session.work is not None
    assert told.session.work.service == service


@pytest.mark.parametrize(
    ("before", "made", "phase", "service"),
    [
        ((say(),), draft(), "planning", "planner"),
        (CODING, program(), "coding", "generator"),
        (CHECKING, checked(), "coding", "generator"),
        ((request("agentflow"),), turn(), "planning", "planner"),
        (VERIFYING, verdict(), "planning", "planner"),
        (ANSWERING, answer(), "planning", "planner"),
    ],
)
def test_what_was_made_without_it_goes_back_with_it(
    before: tuple[Told, ...], made: AnyCommand, phase: str, service: str
) -> None:
    told = given(*before, say("and floats")).when(made).then(made_type(made))
    told.leaves(phase, service, unread=(), feedback=("and floats",))


def made_type(made: AnyCommand) -> str:
    return {
        "DraftPlan": "plan.drafted",
        "DraftCode": "code.drafted",
        "VerifyCode": "code.verified",
        "PlanTurn": "turn.planned",
        "VerifyTurn": "turn.verified",
        "GiveAnswer": "answer.given",
    }[type(made).__name__]


def test_a_turn_planned_without_it_does_not_count_and_does_not_run() -> None:
    session = given(request("agentflow", max_turns=1), say("not that one"), turn(act("1.1", effect="write"))).session
    assert (session.turn, session.turns, session.turns_before) == (None, 1, 1)


def test_a_draft_taken_back_for_it_is_no_longer_waiting_for_approval() -> None:
    session = given(say(), say("floats"), draft()).session
    assert session.plan is not None
    assert session.plan.status == "draft"


def test_words_during_a_run_wait_for_its_end() -> None:
    told = given(*STARTED, say("hurry")).when(done()).then("action.finished")
    told.leaves("verifying", "verifier", unread=("hurry",))


def test_what_was_said_before_a_stop_is_taken_in_by_the_next_work() -> None:
    session = given(*TO_PLAN, say("floats"), say("and tests"), c.Stop(), say("go on")).session
    assert session.request == "go on"
    assert session.feedback == ("floats", "and tests")


def test_a_new_plan_from_scratch_still_hears_what_no_draft_has_taken_in() -> None:
    story = (*TO_PLAN, say("floats"), c.Fail(reason="model down"))
    given(*story).when(c.Reject(replan=True)).then("plan.rejected").leaves("planning", "planner", feedback=("floats",))


def test_an_answer_ends_the_feedback_it_took_in() -> None:
    story = (*ESCALATED, say("try order 7"), turn(act("2.1")), c.Start(), done("2.1"), verdict())
    assert given(*story).session.feedback == ("try order 7",)
    given(*story).when(answer()).then("answer.given").leaves("resting", "nobody", feedback=(), answer="It is done.")


# --- stop and retry


@pytest.mark.parametrize(
    "before",
    [
        *(before for before, _, _ in AT_WORK),
        STARTED,
        TO_PLAN,
        TO_CODE,
        ESCALATED,
        ASKED,
        TO_ALLOW,
        (*TO_PLAN, reject),
        (*TO_CODE, reject),
        (*TO_DONE, c.Continue()),
        (*EXECUTING, c.Ask(text="budget", about="budget")),
    ],
)
def test_stop_rests_at_once_in_every_phase(before: tuple[Told, ...]) -> None:
    told = given(*before).when(c.Stop(reason="enough")).then("session.stopped", reason="enough")
    told.leaves("resting", "nobody", reason="stopped", work=None, question=None)
    told.given.when(c.Stop()).refused(OutOfTurn, "nothing to stop")
    told.given.when(say("else")).then("message.received", intent="request").leaves("planning", "planner")


@pytest.mark.parametrize(
    ("before", "late"),
    [
        ((say(),), draft()),
        ((say(),), c.Ask(text="which?")),
        ((say(),), c.Fail(reason="late")),
        (CODING, program()),
        (CHECKING, checked()),
        ((request("agentflow"),), turn()),
        (EXECUTING, c.Start()),
        (VERIFYING, verdict()),
        (ANSWERING, answer()),
    ],
)
def test_late_work_is_refused_after_a_stop(before: tuple[Told, ...], late: AnyCommand) -> None:
    work = given(*before).session.work
    given(*before, c.Stop()).when(late, "service", work=work).refused(OutOfTurn, "no longer yours")
    given(*before, c.Stop(), c.Retry()).when(late, "service", work=work).refused(OutOfTurn, "no longer yours")


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
@pytest.mark.parametrize("end", [c.Stop(), c.Fail(reason="model down", raw="?" * 30_000)])
def test_retry_does_the_same_stage_again(before: tuple[Told, ...], phase: str, service: str, end: AnyCommand) -> None:
    if phase == "executing" and isinstance(end, c.Stop):
        phase, service = "verifying", "verifier"  # what had not begun was skipped
    told = given(*before, end).when(c.Retry()).then("session.retried")
    told.leaves(phase, service, halted=None, failure=None)


@pytest.mark.parametrize(
    ("before", "phase"),
    [(TO_PLAN, "awaiting_approval"), (TO_CODE, "awaiting_approval"), ((*TO_PLAN, reject), "awaiting_input"),
     (ESCALATED, "escalated")],
)  # fmt: skip
def test_retry_brings_back_what_the_person_was_asked(before: tuple[Told, ...], phase: str) -> None:
    given(*before, c.Stop()).when(c.Retry()).then("session.retried").leaves(phase, "user")


@pytest.mark.parametrize(
    ("before", "phase", "service"),
    [
        (ASKED, "planning", "planner"),
        ((*CODING, c.Ask(text="floats?")), "coding", "generator"),
        (TO_ALLOW, "verifying", "verifier"),
        ((request("agentflow"), turn(), c.Ask(text="?", about="action", action_id="1.1")), "verifying", "verifier"),
    ],
)
def test_retry_of_an_open_question_goes_on_with_who_asked(before: tuple[Told, ...], phase: str, service: str) -> None:
    given(*before, c.Stop()).when(c.Retry()).then("session.retried").leaves(phase, service)


@pytest.mark.parametrize(
    "before",
    [
        (say(),),
        TO_PLAN,
        TO_DONE,
        (*TO_DONE, c.Continue(), c.Stop()),
        (*TO_PLAN, c.CancelPlan()),
        (*CODING, c.Stop(), c.DeletePlan()),
        (*CODING, c.Stop(), c.Complete()),
    ],
)
def test_nothing_to_retry(before: tuple[Told, ...]) -> None:
    given(*before).when(c.Retry()).refused(OutOfTurn, "nothing to retry")


def test_a_started_action_s_outcome_is_recorded_after_a_stop() -> None:
    work = given(*EXECUTING).session.work
    told = given(*STARTED, c.Stop()).when(done(), work=work).then("action.finished", action_id="1.1", ok=True)
    told.leaves("resting", "nobody")
    assert told.event.id == "s1:2:action.finished:1.1"
    assert status(told.session, "1.1") == "finished"


def test_a_started_action_s_outcome_is_recorded_under_the_next_request() -> None:
    told = given(*STARTED, c.Stop(), say("else")).when(done()).then("action.finished")
    told.leaves("planning", "nobody", loose=(), turn=None)


@pytest.mark.parametrize("end", [c.Stop(), c.Fail(reason="crashed too often")])
def test_retry_with_an_action_still_running_is_due_executor(end: AnyCommand) -> None:
    told = given(*STARTED, end).when(c.Retry()).then("session.retried").leaves("executing", "executor")
    told.given.when(c.Start()).refused(OutOfTurn, "running already")
    told.given.when(done()).then("action.finished").leaves("verifying", "verifier")


def test_a_failure_keeps_stage_reason_and_raw() -> None:
    told = (
        given(*CODING)
        .when(c.Fail(reason=" ", raw="?" * 30_000, retryable=False))
        .then("session.failed", stage="coding", reason="no reason was given")
    )
    told.leaves("failed", "nobody", halted="coding")
    assert told.session.failure is not None
    assert len(told.session.failure.raw) == 20_000


def test_an_edit_after_a_failure_leaves_the_failure_behind() -> None:
    given(*TO_PLAN, say("x"), c.Fail(reason="no")).when(edit("mine")).then("plan.edited").leaves(
        "awaiting_approval", "user", failure=None, halted=None
    )


def test_code_edited_at_rest_is_checked_again() -> None:
    given(*TO_DONE).when(edit_code("print(2)")).then("code.edited").leaves("verifying", "verifier")


def test_only_the_work_in_hand_counts() -> None:
    given(*CODING).when(program(), work=OLD_WORK).refused(OutOfTurn, "no longer yours")
    given(*CODING).when(program(), work=None).refused(OutOfTurn, "no longer yours")
    given(*CODING).when(draft()).refused(OutOfTurn, "while the session is coding")
    session = given(say(), say("more")).session
    assert session.work == Work(service="planner", version=1)
    assert due(session) == "nobody"


def test_there_is_no_code_without_a_plan() -> None:
    fields = {"id": "x", "session_id": "s1", "version": 2, "at": NOON, "actor": ANN}
    stray = facts.PlanApproved.model_validate(fields | {"plan_version": 1, "hash": ""})
    given(say(), stray).when(program()).refused(Invalid, "no plan")


# --- pause and resume


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
def test_the_step_at_work_may_end_but_no_new_one_begins(before: tuple[Told, ...], phase: str, service: str) -> None:
    told = given(*before).when(c.Pause()).then("session.paused").leaves(phase, "nobody", paused=True)
    assert told.session.work is not None
    told.given.when(c.Pause()).refused(OutOfTurn)
    told.given.when(c.Resume()).then("session.resumed").leaves(phase, "nobody", paused=False)


@pytest.mark.parametrize(
    ("before", "command", "phase", "service"),
    [
        (TO_PLAN, approve, "coding", "generator"),
        (CODING, program(), "verifying", "verifier"),
        (TO_PLAN, say("floats"), "planning", "planner"),
        (STARTED, done(), "verifying", "verifier"),
    ],
)
def test_what_a_pause_held_back_begins_with_resume(
    before: tuple[Told, ...], command: Any, phase: str, service: str
) -> None:
    held = given(*before, c.Pause(), command)
    assert (held.session.phase, held.session.work, due(held.session)) == (phase, None, "nobody")
    told = given(*before, c.Pause(), command, say("and quickly")).when(c.Resume()).then("session.resumed")
    told.leaves(phase, service, paused=False)
    assert "and quickly" in (*told.session.unread, *told.session.feedback)


def test_a_session_that_came_to_rest_is_no_longer_paused() -> None:
    told = given(*TO_CODE, c.Pause()).when(approve).then("code.approved").leaves("resting", "nobody", paused=False)
    told.given.when(c.Resume()).refused(OutOfTurn, "not paused")
    told.given.when(c.Pause()).refused(OutOfTurn, "nothing to pause")
    told.given.when(say("more")).then("message.received").leaves("planning", "planner")


# --- questions


def test_the_planner_asks_and_takes_the_answer_in() -> None:
    told = given(say()).when(c.Ask(text="floats?", options=("yes", "no"))).then("question.asked", about="request")
    told.leaves("awaiting_input", "user")
    told.given.when(c.Answer(text="yes", action_id="request-1")).refused(Stale, "no longer open")
    told.given.when(c.Answer(text=" ")).refused(Invalid, "empty")
    heard = told.given.when(say("yes")).then("question.answered", action_id="request-2")
    heard.leaves("planning", "planner", feedback=("yes",), asked="floats?", question=None)
    heard.given.when(c.Answer(text="yes")).refused(OutOfTurn, "No question")
    heard.given.when(draft()).then("plan.drafted").leaves("awaiting_approval", "user", asked="", feedback=())


def test_an_answer_that_brings_a_file_keeps_it() -> None:
    told = given(*ASKED).when(say("see there", knowledge=(NOTES,))).then("message.received", intent="feedback")
    told.leaves("planning", "planner", knowledge=(NOTES,), feedback=("see there",), asked="floats?")


def test_the_generator_s_question_goes_back_to_the_generator() -> None:
    told = given(*CODING, c.Ask(text="floats?")).when(say("yes")).then("question.answered")
    told.leaves("coding", "generator", feedback=("yes",))


@pytest.mark.parametrize("before", [CHECKING, VERIFYING, ANSWERING, EXECUTING])
def test_only_drafts_ask_about_the_request(before: tuple[Told, ...]) -> None:
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
    assert (after.phase, after.feedback) == ("resting", ())


# --- budgets


def over(**limits: Any) -> tuple[Told, ...]:
    ask = c.Ask(text="the budget is spent", about="budget")
    return (request("conversation", **limits), draft(), approve, spend(tokens=100, cost=2.0), ask)


@pytest.mark.parametrize("limits", [{"token_budget": 100}, {"cost_budget": 1.0}, {"token_budget": 1, "cost_budget": 9}])
def test_a_spent_budget_asks_and_raising_it_goes_on_where_it_stood(limits: dict[str, Any]) -> None:
    asked = given(*over(**limits))
    assert asked.session.over_budget
    assert asked.session.question is not None
    assert asked.session.question.options == (RAISE, GIVE_UP)
    told = asked.when(say(RAISE)).then("budget.raised").leaves("coding", "generator", question=None)
    assert not told.session.over_budget


def test_a_person_raises_it_by_an_amount_of_their_own() -> None:
    told = given(*over(token_budget=100)).when(c.RaiseBudget(tokens=500)).then("budget.raised", tokens=500)
    told.leaves("coding", "generator")
    assert told.session.settings.token_budget == 600


def test_giving_up_stops_and_can_be_thought_over() -> None:
    told = given(*over(token_budget=100)).when(c.Answer(text=GIVE_UP)).then("session.stopped")
    told.leaves("resting", "nobody", halted="coding")
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
    old = facts.QuestionAnswered.model_validate(fields | {"action_id": "budget-5", "text": "go on"})
    after = evolve(asked, old)
    assert (after.phase, after.feedback, due(after)) == ("coding", ("go on",), "generator")


def test_every_call_of_a_work_is_a_fact_of_its_own_and_due_nobody() -> None:
    first = given(say()).when(spend(latency=0.1)).then("usage.spent").leaves("planning", "nobody")
    again = given(say()).when(spend(latency=0.1)).then("usage.spent")
    second = first.given.when(spend(latency=0.2)).then("usage.spent")
    assert first.event.id == again.event.id
    assert first.event.id != second.event.id


@pytest.mark.parametrize("before", [TO_PLAN, TO_DONE, (say(), c.Stop()), (say(), c.Fail(reason="x"))])
def test_usage_is_recorded_in_any_phase(before: tuple[Told, ...]) -> None:
    given(*before).when(spend()).then("usage.spent")


def test_a_run_that_was_stopped_can_be_judged_or_run_again() -> None:
    told = given(*TO_DONE, *RUN_CODE[:2], c.Stop(), done()).when(c.Retry()).then("session.retried")
    told.leaves("verifying", "verifier")
    given(*TO_DONE, *RUN_CODE[:2], c.Stop()).when(c.Run()).then("turn.planned", turn=2)
