"""Whatever a person may do while work goes on: steer, stop, retry, pause, be asked, run out of budget."""

from typing import Any

import pytest

from parley.events import facts
from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.decide import AnyCommand, due
from shared.domain.errors import Invalid, OutOfTurn
from tests.unit.domain.spec import (
    ANN,
    ANSWERING,
    ASKED,
    AT_WORK,
    CHECKING,
    CODING,
    ESCALATED,
    EXECUTING,
    NOON,
    OLD_WORK,
    RUN_CODE,
    STARTED,
    TO_ALLOW,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    VERIFYING,
    StoryLine,
    act,
    anew,
    answer,
    approve,
    checked,
    done,
    draft,
    edit,
    edit_code,
    feedback,
    given,
    program,
    reject,
    request,
    say,
    status,
    turn,
    verdict,
)

# --- a word during work


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
def test_a_word_during_work_is_recorded_and_nobody_is_due(
    before: tuple[StoryLine, ...], phase: str, service: str
) -> None:
    told = given(*before).when(say("and floats")).then("message.received", intent="guidance")
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
    before: tuple[StoryLine, ...], made: AnyCommand, phase: str, service: str
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
    assert (session.turn, session.counts.turns, session.counts.turns_before) == (None, 1, 1)


def test_a_draft_taken_back_for_it_is_no_longer_waiting_for_approval() -> None:
    session = given(say(), say("floats"), draft()).session
    assert session.plan is not None
    assert session.plan.status == "draft"


def test_words_during_a_run_wait_for_its_end() -> None:
    told = given(*STARTED, say("hurry")).when(done()).then("actions.finished")
    told.leaves("verifying", "verifier", unread=("hurry",))


def test_what_was_said_before_a_stop_is_taken_in_by_the_next_work() -> None:
    session = given(*TO_PLAN, feedback("floats"), say("and tests"), c.Stop(), anew("go on")).session
    assert session.words.request == "go on"
    assert session.words.feedback == ("floats", "and tests")


def test_a_new_plan_from_scratch_still_hears_what_no_draft_has_taken_in() -> None:
    story = (*TO_PLAN, feedback("floats"), c.Fail(reason="model down"))
    given(*story).when(c.Reject(replan=True)).then("plan.rejected").leaves("planning", "planner", feedback=("floats",))


def test_an_answer_ends_the_feedback_it_took_in() -> None:
    story = (*ESCALATED, say("try order 7"), turn(act("2.1")), c.Start(), done("2.1"), verdict())
    assert given(*story).session.words.feedback == ("try order 7",)
    given(*story).when(answer()).then("answer.given").leaves("resting", "nobody", feedback=(), text="It is done.")


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
def test_stop_rests_at_once_in_every_phase(before: tuple[StoryLine, ...]) -> None:
    told = given(*before).when(c.Stop(reason="enough")).then("session.stopped", reason="enough")
    told.leaves("resting", "nobody", rest_reason="stopped", work=None, question=None)
    told.given.when(c.Stop()).refused(OutOfTurn, "nothing to stop")
    told.given.when(anew("else")).then("message.received", intent="request").leaves("planning", "planner")


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
def test_late_work_is_refused_after_a_stop(before: tuple[StoryLine, ...], late: AnyCommand) -> None:
    work = given(*before).session.work
    given(*before, c.Stop()).when(late, "service", work=work).refused(OutOfTurn, "no longer yours")
    given(*before, c.Stop(), c.Retry()).when(late, "service", work=work).refused(OutOfTurn, "no longer yours")


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
@pytest.mark.parametrize("end", [c.Stop(), c.Fail(reason="model down", raw="?" * 30_000)])
def test_retry_does_the_same_stage_again(
    before: tuple[StoryLine, ...], phase: str, service: str, end: AnyCommand
) -> None:
    told = given(*before, end).when(c.Retry()).then("session.retried")
    told.leaves(phase, service, resume_phase=None, failure=None)


@pytest.mark.parametrize(
    ("before", "phase"),
    [(TO_PLAN, "awaiting_approval"), (TO_CODE, "awaiting_approval"), (TO_ALLOW, "awaiting_approval"),
     ((*TO_PLAN, reject), "awaiting_input"), (ESCALATED, "escalated")],
)  # fmt: skip
def test_retry_brings_back_what_the_person_was_asked(before: tuple[StoryLine, ...], phase: str) -> None:
    given(*before, c.Stop()).when(c.Retry()).then("session.retried").leaves(phase, "user")


@pytest.mark.parametrize(
    ("before", "phase", "service"),
    [
        (ASKED, "planning", "planner"),
        ((*CODING, c.Ask(text="floats?")), "coding", "generator"),
        ((request("agentflow"), turn(), c.Ask(text="?", about="action", action_id="1.1")), "executing", "executor"),
    ],
)
def test_retry_of_an_open_question_goes_on_with_who_asked(
    before: tuple[StoryLine, ...], phase: str, service: str
) -> None:
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
def test_nothing_to_retry(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(c.Retry()).refused(OutOfTurn, "nothing to retry")


def test_a_started_action_s_outcome_is_recorded_after_a_stop() -> None:
    work = given(*EXECUTING).session.work
    told = given(*STARTED, c.Stop()).when(done(), work=work).then("actions.finished", outcomes=done().outcomes)
    told.leaves("resting", "nobody")
    assert told.event.id == "s1:2:actions.finished:1.1"
    assert status(told.session, "1.1") == "finished"


def test_a_started_action_s_outcome_is_recorded_under_the_next_request() -> None:
    told = given(*STARTED, c.Stop(), anew("else")).when(done()).then("actions.finished")
    told.leaves("planning", "nobody", left_running=(), turn=None)


@pytest.mark.parametrize("end", [c.Stop(), c.Fail(reason="crashed too often")])
def test_retry_with_an_action_still_running_is_due_executor(end: AnyCommand) -> None:
    told = given(*STARTED, end).when(c.Retry()).then("session.retried").leaves("executing", "executor")
    told.given.when(c.Start()).refused(OutOfTurn, "running already")
    told.given.when(done()).then("actions.finished").leaves("verifying", "verifier")


def test_a_failure_keeps_stage_reason_and_raw() -> None:
    told = (
        given(*CODING)
        .when(c.Fail(reason=" ", raw="?" * 30_000, retryable=False))
        .then("session.failed", phase="coding", reason="no reason was given")
    )
    told.leaves("failed", "nobody", resume_phase="coding")
    assert told.session.failure is not None
    assert len(told.session.failure.raw) == 20_000


def test_an_edit_after_a_failure_leaves_the_failure_behind() -> None:
    given(*TO_PLAN, feedback("x"), c.Fail(reason="no")).when(edit("mine")).then("plan.edited").leaves(
        "awaiting_approval", "user", failure=None, resume_phase=None
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
def test_the_step_at_work_may_end_but_no_new_one_begins(
    before: tuple[StoryLine, ...], phase: str, service: str
) -> None:
    told = given(*before).when(c.Pause()).then("session.paused").leaves(phase, "nobody", paused=True)
    assert told.session.work is not None
    told.given.when(c.Pause()).refused(OutOfTurn)
    told.given.when(c.Resume()).then("session.resumed").leaves(phase, "nobody", paused=False)


@pytest.mark.parametrize(
    ("before", "command", "phase", "service"),
    [
        (TO_PLAN, approve, "coding", "generator"),
        (CODING, program(), "verifying", "verifier"),
        (TO_PLAN, feedback("floats"), "planning", "planner"),
        (STARTED, done(), "verifying", "verifier"),
    ],
)
def test_what_a_pause_held_back_begins_with_resume(
    before: tuple[StoryLine, ...], command: Any, phase: str, service: str
) -> None:
    held = given(*before, c.Pause(), command)
    assert (held.session.phase, held.session.work, due(held.session)) == (phase, None, "nobody")
    told = given(*before, c.Pause(), command, say("and quickly")).when(c.Resume()).then("session.resumed")
    told.leaves(phase, service, paused=False)
    assert "and quickly" in (*told.session.words.unread, *told.session.words.feedback)


def test_a_session_that_came_to_rest_is_no_longer_paused() -> None:
    told = given(*TO_CODE, c.Pause()).when(approve).then("code.approved").leaves("resting", "nobody", paused=False)
    told.given.when(c.Resume()).refused(OutOfTurn, "not paused")
    told.given.when(c.Pause()).refused(OutOfTurn, "nothing to pause")
    told.given.when(anew("more")).then("message.received").leaves("planning", "planner")


def test_a_run_that_was_stopped_can_be_judged_or_run_again() -> None:
    told = given(*TO_DONE, *RUN_CODE[:2], c.Stop(), done()).when(c.Retry()).then("session.retried")
    told.leaves("verifying", "verifier")
    given(*TO_DONE, *RUN_CODE[:2], c.Stop()).when(c.Run()).then("turn.requested", turn=2)
