"""What a user may do during work: steer, stop, retry, pause, answer, raise a budget."""

from typing import Any

import pytest

from parley.events import facts
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Work
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.rules.decide import AnyCommand, due
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
    answer,
    approve,
    checked,
    done,
    draft,
    edit,
    edit_code,
    feedback,
    given,
    new_request,
    program,
    reject,
    request,
    say,
    status,
    turn,
    unread,
    verdict,
)

# --- messages during work


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
def test_a_message_during_work_is_recorded_and_makes_no_service_due(
    before: tuple[StoryLine, ...], phase: str, service: str
) -> None:
    result = given(*before).when(say("and floats")).then("message.received", intent="guidance")
    result.leaves(phase, "nobody", unread=("and floats",))
    assert result.session.work is not None
    assert result.session.work.service == service


@pytest.mark.parametrize(
    ("before", "command", "phase", "service"),
    [
        ((say(),), draft(), "planning", "planner"),
        (CODING, program(), "coding", "generator"),
        (CHECKING, checked(), "coding", "generator"),
        ((request("agentflow"),), turn(), "planning", "planner"),
        (VERIFYING, verdict(), "planning", "planner"),
        (ANSWERING, answer(), "planning", "planner"),
    ],
)
def test_a_result_made_without_the_message_is_made_again(
    before: tuple[StoryLine, ...], command: AnyCommand, phase: str, service: str
) -> None:
    result = given(*before, say("and floats")).when(command).then(drafted_type(command))
    result.leaves(phase, service, unread=("and floats",))
    again = draft() if phase == "planning" and result.session.workflow == "conversation" else turn(act("2.1"))
    taken_in = result.given.when(program() if phase == "coding" else again).then_event()
    assert given(taken_in, begin=result.session).session.words.unread == ()


def drafted_type(command: AnyCommand) -> str:
    return {
        "DraftPlan": "plan.drafted",
        "DraftCode": "code.drafted",
        "VerifyCode": "code.verified",
        "PlanTurn": "turn.planned",
        "VerifyTurn": "turn.verified",
        "GiveAnswer": "answer.given",
    }[type(command).__name__]


def test_a_turn_planned_without_the_message_does_not_count_or_run() -> None:
    session = given(request("agentflow", max_turns=1), say("not that one"), turn(act("1.1", effect="write"))).session
    assert (session.turn, session.counts.turns, session.counts.turns_before) == (None, 1, 1)


def test_a_draft_made_without_the_message_does_not_wait_for_approval() -> None:
    session = given(say(), say("floats"), draft()).session
    assert session.plan is not None
    assert session.plan.status == "draft"


def test_messages_during_a_run_wait_for_its_end() -> None:
    result = given(*STARTED, say("hurry")).when(done()).then("actions.finished")
    result.leaves("verifying", "verifier", unread=("hurry",))


def test_a_change_that_has_not_begun_does_not_begin_before_the_message_is_read() -> None:
    write = (request("agentflow", approval="never"), turn(act("1.1"), act("1.2", "1.1", effect="write")), c.Start())
    result = given(*write, say("not that one")).when(done()).then("actions.finished")
    result.leaves("planning", "planner", unread=("not that one",), turn=None)


def test_a_stop_withdraws_what_the_draft_at_work_was_to_take_in_and_nothing_else() -> None:
    stopped = (*TO_PLAN, feedback("floats"), say("and tests"), c.Stop())
    given(*stopped, c.Retry()).when(draft()).then("plan.drafted").leaves("awaiting_approval", "user", unread=())
    assert unread(given(*stopped).session) == ("and tests",)
    checks = given(*CHECKING, say("floats"), c.Stop(), c.Retry(), c.Stop(), c.Retry())
    checks.when(checked()).then("code.verified").leaves("coding", "generator", unread=("floats",))


def test_messages_that_a_stop_has_left_are_answered_before_actions_begin() -> None:
    stopped = (*TO_CODE, approve, c.Reject(replan=True, target="code"), say("floats"), c.Stop(), edit_code("print(2)"))
    assert unread(given(*stopped).session) == ()  # the person's own program takes it in
    run = (*TO_DONE, c.Run(), say("floats"), c.Stop())
    assert unread(given(*run).session) == ()  # it was to be answered, and is withdrawn
    left = (*TO_DONE, new_request("more"), say("and floats"), c.Stop(), c.Run())
    session = given(*left).session
    assert (session.phase, due(session), unread(session)) == ("executing", "planner", ("and floats",))
    given(*left, c.AnswerRemark(text="Later.")).when(c.Start()).then("actions.started")


def test_a_replan_includes_unread_messages() -> None:
    story = (*TO_PLAN, feedback("floats"), c.Fail(reason="model down"))
    given(*story).when(c.Reject(replan=True)).then("plan.rejected").leaves("planning", "planner", unread=("floats",))


def test_a_turn_takes_in_the_message_that_led_to_it() -> None:
    story = (*ESCALATED, say("try order 7"))
    given(*story).when(turn(act("2.1"))).then("turn.planned").leaves("executing", "executor", unread=())


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
def test_a_stop_ends_work_at_once_in_every_phase(before: tuple[StoryLine, ...]) -> None:
    result = given(*before).when(c.Stop(reason="enough")).then("session.stopped", reason="enough")
    result.leaves("resting", "nobody", rest_reason="stopped", work=None, question=None)
    result.given.when(c.Stop()).refused(OutOfTurn, "nothing to stop")
    result.given.when(new_request("else")).then("message.received", intent="request").leaves("planning", "planner")


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
def test_results_of_stopped_work_are_refused(before: tuple[StoryLine, ...], late: AnyCommand) -> None:
    work = given(*before).session.work
    given(*before, c.Stop()).when(late, "service", work=work).refused(OutOfTurn, "no longer yours")
    given(*before, c.Stop(), c.Retry()).when(late, "service", work=work).refused(OutOfTurn, "no longer yours")


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
@pytest.mark.parametrize("end", [c.Stop(), c.Fail(reason="model down", raw="?" * 30_000)])
def test_retry_enters_the_same_phase_again(
    before: tuple[StoryLine, ...], phase: str, service: str, end: AnyCommand
) -> None:
    result = given(*before, end).when(c.Retry()).then("session.retried")
    result.leaves(phase, service, resume_phase=None, failure=None)


@pytest.mark.parametrize(
    ("before", "phase"),
    [(TO_PLAN, "awaiting_approval"), (TO_CODE, "awaiting_approval"), (TO_ALLOW, "awaiting_approval"),
     ((*TO_PLAN, reject), "awaiting_input"), (ESCALATED, "escalated")],
)  # fmt: skip
def test_retry_restores_the_open_review(before: tuple[StoryLine, ...], phase: str) -> None:
    given(*before, c.Stop()).when(c.Retry()).then("session.retried").leaves(phase, "user")


@pytest.mark.parametrize(
    ("before", "phase", "service"),
    [
        (ASKED, "planning", "planner"),
        ((*CODING, c.Ask(text="floats?")), "coding", "generator"),
        ((request("agentflow"), turn(), c.Ask(text="?", about="action", action_id="1.1")), "executing", "executor"),
    ],
)
def test_retry_of_an_open_question_returns_to_the_phase_that_asked(
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
def test_retry_is_refused_if_there_is_nothing_to_retry(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(c.Retry()).refused(OutOfTurn, "nothing to retry")


def test_an_outcome_is_recorded_after_a_stop() -> None:
    work = given(*EXECUTING).session.work
    result = given(*STARTED, c.Stop()).when(done(), work=work).then("actions.finished", outcomes=done().outcomes)
    result.leaves("resting", "nobody")
    assert result.event.id == "s1:2:actions.finished:1.1"
    assert status(result.session, "1.1") == "finished"


def test_an_outcome_is_recorded_during_the_next_request() -> None:
    result = given(*STARTED, c.Stop(), new_request("else")).when(done()).then("actions.finished")
    result.leaves("planning", "nobody", left_running=(), turn=None)


@pytest.mark.parametrize("end", [c.Stop(), c.Fail(reason="crashed too often")])
def test_retry_with_a_running_action_makes_the_executor_due(end: AnyCommand) -> None:
    result = given(*STARTED, end).when(c.Retry()).then("session.retried").leaves("executing", "executor")
    result.given.when(c.Start()).refused(OutOfTurn, "running already")
    result.given.when(done()).then("actions.finished").leaves("verifying", "verifier")


def test_a_failure_keeps_phase_reason_and_model_reply() -> None:
    result = (
        given(*CODING)
        .when(c.Fail(reason=" ", raw="?" * 30_000, retryable=False))
        .then("session.failed", phase="coding", reason="no reason was given")
    )
    result.leaves("failed", "nobody", resume_phase="coding")
    assert result.session.failure is not None
    assert len(result.session.failure.raw) == 20_000


def test_an_edit_clears_the_failure() -> None:
    given(*TO_PLAN, feedback("x"), c.Fail(reason="no")).when(edit("mine")).then("plan.edited").leaves(
        "awaiting_approval", "user", failure=None, resume_phase=None
    )


def test_code_that_is_edited_at_rest_is_checked_again() -> None:
    given(*TO_DONE).when(edit_code("print(2)")).then("code.edited").leaves("verifying", "verifier")


def test_only_commands_for_the_current_work_are_accepted() -> None:
    given(*CODING).when(program(), work=OLD_WORK).refused(OutOfTurn, "no longer yours")
    given(*CODING).when(program(), work=None).refused(OutOfTurn, "no longer yours")
    given(*CODING).when(draft()).refused(OutOfTurn, "while the session is coding")
    session = given(say(), say("more")).session
    assert session.work == Work(service="planner", version=1)
    assert due(session) == "nobody"


def test_code_cannot_be_drafted_without_a_plan() -> None:
    fields = {"id": "x", "session_id": "s1", "version": 2, "at": NOON, "actor": ANN}
    approved_without_plan = facts.PlanApproved.model_validate(fields | {"plan_version": 1, "hash": ""})
    given(say(), approved_without_plan).when(program()).refused(Invalid, "no plan")


# --- pause and resume


@pytest.mark.parametrize(("before", "phase", "service"), AT_WORK)
def test_a_pause_lets_the_current_step_end_and_starts_no_other(
    before: tuple[StoryLine, ...], phase: str, service: str
) -> None:
    result = given(*before).when(c.Pause()).then("session.paused").leaves(phase, "nobody", paused=True)
    assert result.session.work is not None
    result.given.when(c.Pause()).refused(OutOfTurn)
    result.given.when(c.Resume()).then("session.resumed").leaves(phase, "nobody", paused=False)


@pytest.mark.parametrize(
    ("before", "command", "phase", "service"),
    [
        (TO_PLAN, approve, "coding", "generator"),
        (CODING, program(), "verifying", "verifier"),
        (TO_PLAN, feedback("floats"), "planning", "planner"),
        (STARTED, done(), "verifying", "verifier"),
    ],
)
def test_work_that_a_pause_delayed_begins_on_resume(
    before: tuple[StoryLine, ...], command: Any, phase: str, service: str
) -> None:
    waiting = given(*before, c.Pause(), command)
    assert (waiting.session.phase, waiting.session.work, due(waiting.session)) == (phase, None, "nobody")
    result = given(*before, c.Pause(), command, say("and quickly")).when(c.Resume()).then("session.resumed")
    result.leaves(phase, service, paused=False)
    assert unread(result.session)[-1] == "and quickly"


def test_a_session_at_rest_cannot_be_paused() -> None:
    result = given(*TO_CODE, c.Pause()).when(approve).then("code.approved").leaves("resting", "nobody", paused=False)
    result.given.when(c.Resume()).refused(OutOfTurn, "not paused")
    result.given.when(c.Pause()).refused(OutOfTurn, "nothing to pause")
    result.given.when(new_request("more")).then("message.received").leaves("planning", "planner")


def test_a_stopped_run_can_be_verified_or_run_again() -> None:
    result = given(*TO_DONE, *RUN_CODE[:2], c.Stop(), done()).when(c.Retry()).then("session.retried")
    result.leaves("verifying", "verifier")
    given(*TO_DONE, *RUN_CODE[:2], c.Stop()).when(c.Run()).then("turn.requested", turn=2)
