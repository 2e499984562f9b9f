"""The user sends a message to a running execution plan, edits it or cancels it."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, Waiting
from shared.domain import commands as c
from shared.domain.batches import find_action, next_batch, running_actions
from shared.domain.decide import due
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.plan_steps import task_status
from shared.domain.session import Session, before_remark, undecided_actions
from shared.story import finish_action
from tests.unit.domain.spec import NOON, StoryLine, approve, given, reject, say, verdict
from tests.unit.domain.test_execution_plan import (
    CANCEL,
    DRAFTED,
    FAILED_PLAN,
    LOOK,
    PAY,
    edited,
    finish_step,
    plan,
    resolve,
    session_after,
    status,
)

APPROVED: tuple[StoryLine, ...] = (*DRAFTED, plan(LOOK, CANCEL), approve)
RUNS: tuple[StoryLine, ...] = (*APPROVED, c.Start())
ANSWERED = c.AnswerRemark(text="It looks the order up.")
NEW = LOOK.model_copy(update={"id": "s9", "arguments": {"order": "#W9"}})
WAIT = Step(text="Wait", tool="wait_until", id="s7", effect="read", waits_for="time")
ASK = Step(text="Ask", tool="wait_person", id="s8", effect="read", waits_for="person")


def remark_texts(session: Session) -> tuple[str, ...]:
    return session.words.remark.texts if session.words.remark else ()


# --- messages


def test_a_message_during_a_batch_is_answered_before_the_next_batch() -> None:
    after = given(*RUNS).when(say("what is this?")).then("message.received", intent="guidance")
    after.leaves("executing", "nobody", unread=("what is this?",))
    assert after.session.work  # the batch continues
    waiting = session_after(*RUNS, say("what is this?"), finish_step("s1"))
    assert (waiting.phase, due(waiting), remark_texts(waiting), waiting.words.unread) == (
        "planning",
        "planner",
        ("what is this?",),
        (),
    )
    assert (status(waiting)["t2.s2"], task_status(waiting)) == ("planned", "executing")


def test_after_an_answer_to_a_message_the_plan_continues() -> None:
    session = session_after(*RUNS, say("what is this?"), finish_step("s1"), ANSWERED)
    assert (session.phase, due(session), session.words.reply) == ("executing", "executor", ANSWERED.text)
    assert [action.spec.id for action in next_batch(session.turn)] == ["t2.s2"]
    assert (
        session_after(*RUNS, say("what is this?"), finish_step("s1"), ANSWERED, c.Start(), finish_step("s2")).phase
        == "verifying"
    )


def test_a_draft_instead_of_an_answer_puts_a_new_version_in_review() -> None:
    session = session_after(*RUNS, say("cancel nothing"), finish_step("s1"), plan(LOOK, NEW))
    assert session.plan
    assert (session.phase, session.plan.task, session.turn) == ("awaiting_approval", "t2", None)
    again = session_after(*RUNS, say("cancel nothing"), finish_step("s1"), plan(LOOK, NEW), approve)
    assert status(again) == {"t2.s1": "finished", "t2.s9": "planned"}
    with pytest.raises(Invalid, match=r"\(s1\) has already started"):
        session_after(*RUNS, say("another one"), finish_step("s1"), plan(NEW.model_copy(update={"id": "s1"})))


def test_a_message_before_the_first_step_is_answered_first() -> None:
    waiting = session_after(*APPROVED, say("wait, which order?"))
    assert (waiting.phase, due(waiting), remark_texts(waiting)) == ("planning", "planner", ("wait, which order?",))
    assert session_after(*APPROVED, say("wait, which order?"), ANSWERED).phase == "executing"
    given(*APPROVED, say("wait, which order?")).when(c.Start()).refused(OutOfTurn)


def test_messages_are_answered_together_and_the_planner_may_ask_a_question() -> None:
    both = session_after(*RUNS, say("one"), say("two"), finish_step("s1"), say("three"))
    assert (both.phase, remark_texts(both)) == ("planning", ("one", "two", "three"))
    asked = (*RUNS, say("another order"), finish_step("s1"), c.Ask(text="Which one?"))
    assert session_after(*asked).phase == "awaiting_input"
    assert session_after(*asked, c.Answer(text="#W9"), ANSWERED).phase == "executing"
    assert session_after(*asked, c.Answer(text="#W9"), plan(LOOK, NEW)).phase == "awaiting_approval"


def test_a_message_at_the_last_step_is_answered_before_the_plan_is_verified() -> None:
    last = (*DRAFTED, plan(LOOK), approve, c.Start(), say("and now?"), finish_step("s1"))
    waiting = session_after(*last)
    assert (waiting.phase, waiting.plan and waiting.plan.status) == ("planning", "executing")
    assert session_after(*last, ANSWERED).phase == "verifying"
    assert session_after(*last, plan(LOOK, NEW)).phase == "awaiting_approval"
    in_verification = (*DRAFTED, plan(LOOK), approve, c.Start(), finish_step("s1"), say("and now?"))
    assert session_after(*in_verification).phase == "planning"
    assert session_after(*in_verification, ANSWERED).phase == "verifying"


def test_a_message_during_an_approval_is_answered_and_the_approval_still_waits() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve)
    assert undecided_actions(session_after(*lines).turn)
    remarked = session_after(*lines, say("why so much?"))
    assert (remarked.phase, before_remark(remarked).phase) == ("planning", "awaiting_approval")
    answered = session_after(*lines, say("why so much?"), ANSWERED)
    assert (answered.phase, len(undecided_actions(answered.turn))) == ("awaiting_approval", 1)
    # an approval meanwhile takes effect at once, and the message is answered before the step begins
    meanwhile = session_after(*lines, say("why so much?"), c.Approve(version=answered.version, action_id="t2.s4"))
    assert (meanwhile.phase, remark_texts(meanwhile)) == ("planning", ("why so much?",))
    assert next_batch(session_after(*lines, say("why?"), c.Approve(version=99, action_id="t2.s4"), ANSWERED).turn)


def test_decisions_while_a_message_is_answered_take_effect_at_once() -> None:
    lines = (*RUNS, say("hm"), finish_step("s1"))
    skipped = session_after(*lines, c.Skip(action_id="t2.s2"))
    assert (skipped.phase, status(skipped)["t2.s2"], remark_texts(skipped)) == ("planning", "skipped", ("hm",))
    assert session_after(*lines, c.Skip(action_id="t2.s2"), ANSWERED).phase == "verifying"
    assert session_after(*lines, edited(LOOK, NEW)).phase == "awaiting_approval"
    cancelled = session_after(*lines, c.CancelPlan())
    assert (cancelled.phase, cancelled.work, status(cancelled)["t2.s2"]) == ("resting", None, "skipped")


def test_a_stop_stops_the_plan_and_the_message_is_answered_on_retry() -> None:
    lines = (*RUNS, say("hm"), finish_step("s1"), c.Stop())
    stopped = session_after(*lines)
    assert (stopped.phase, stopped.rest_reason, stopped.words.unread) == ("resting", "stopped", ("hm",))
    assert status(stopped)["t2.s2"] == "skipped"
    again = session_after(*lines, c.Retry())
    assert (again.phase, remark_texts(again), status(again)["t2.s2"]) == ("planning", ("hm",), "planned")
    assert session_after(*lines, c.Retry(), ANSWERED).phase == "executing"


def test_a_pause_delays_the_answer_to_a_message_and_the_plan() -> None:
    paused = session_after(*RUNS, c.Pause(), say("hm"), finish_step("s1"))
    assert (paused.phase, paused.paused, paused.work, remark_texts(paused)) == ("planning", True, None, ("hm",))
    assert session_after(*RUNS, c.Pause(), say("hm"), finish_step("s1"), c.Resume(), ANSWERED).phase == "executing"
    later = session_after(*RUNS, say("hm"), finish_step("s1"), c.Pause(), ANSWERED)
    assert (later.phase, later.paused, later.work) == ("executing", True, None)
    assert due(session_after(*RUNS, say("hm"), finish_step("s1"), c.Pause(), ANSWERED, c.Resume())) == "executor"


def test_a_planner_that_fails_at_a_message_can_be_retried() -> None:
    failed = (*RUNS, say("hm"), finish_step("s1"), c.Fail(reason="the model is away"))
    assert (session_after(*failed).phase, task_status(session_after(*failed))) == ("failed", "failed")
    assert remark_texts(session_after(*failed, c.Retry())) == ("hm",)
    assert session_after(*failed, c.Retry(), ANSWERED).phase == "executing"


def test_a_message_is_answered_after_the_user_settles_an_uncertain_outcome() -> None:
    uncertain = (
        *DRAFTED,
        plan(CANCEL.model_copy(update={"after": ()}), LOOK),
        approve,
        c.Start(),
        say("hm"),
        finish_step("s1"),
    )
    asked = session_after(*uncertain, c.ReportUncertain(action_id="t2.s2", reason="crashed"))
    assert (asked.phase, asked.words.unread) == ("awaiting_input", ("hm",))
    cleared = session_after(
        *uncertain, c.ReportUncertain(action_id="t2.s2", reason="crashed"), c.Answer(text="It happened")
    )
    assert (cleared.phase, remark_texts(cleared)) == ("planning", ("hm",))


# --- edits


def test_an_edit_during_a_batch_lets_it_end_and_starts_no_other() -> None:
    session = session_after(*RUNS, edited(LOOK, CANCEL, NEW))
    assert (session.phase, session.work, session.turn) == ("awaiting_approval", None, None)
    assert [action.spec.id for action in session.left_running] == ["t2.s1"]
    given(*RUNS, edited(LOOK, CANCEL, NEW)).when(approve).refused(OutOfTurn, "still running")
    after = session_after(*RUNS, edited(LOOK, CANCEL, NEW), finish_step("s1"))
    assert (after.phase, after.left_running) == ("awaiting_approval", ())
    again = session_after(*RUNS, edited(LOOK, CANCEL, NEW), finish_step("s1"), approve)
    assert status(again) == {"t2.s1": "finished", "t2.s2": "planned", "t2.s9": "planned"}


def test_a_running_step_cannot_be_edited() -> None:
    changed_look = LOOK.model_copy(update={"arguments": {"order": "#W2"}})
    given(*RUNS).when(edited(changed_look, CANCEL)).refused(Invalid, "Step 1 (s1) has already started")
    changed_cancel = CANCEL.model_copy(update={"arguments": {"order": "#W2"}})
    assert session_after(*RUNS, edited(LOOK, changed_cancel)).phase == "awaiting_approval"


def test_a_running_plan_can_be_edited_at_any_time() -> None:
    moments: dict[str, tuple[StoryLine, ...]] = {
        "executing": APPROVED,
        "paused": (*RUNS, c.Pause()),
        "asking": (*DRAFTED, plan(ASK, LOOK), approve, c.Start(), finish_step("s1"), _ask),
        "verifying": (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1", ok=False)),
        "answering": (*DRAFTED, plan(LOOK), approve, c.Start(), finish_step("s1"), verdict()),
        "resting": FAILED_PLAN,
    }
    for lines in moments.values():
        before = session_after(*lines)
        assert before.plan
        session = session_after(*lines, edited(*before.plan.steps, NEW))
        assert (session.phase, session.work, session.question) == ("awaiting_approval", None, None)


def _ask(session: Session) -> c.Ask:
    return c.Ask(text="Which?", about="action", action_id="t2.s8")


def test_an_edit_is_refused_while_another_version_is_drafted() -> None:
    drafting = (*DRAFTED, plan(LOOK), c.Reject(version=2), say("otherwise"))
    given(*drafting).when(edited(LOOK, NEW)).refused(OutOfTurn, "Stop it first")


def test_an_uncertain_outcome_after_an_edit_needs_approval_before_a_new_run() -> None:
    both = (*DRAFTED, plan(LOOK, CANCEL.model_copy(update={"after": ()})), approve, c.Start())
    uncertain = (
        *both,
        edited(LOOK, CANCEL, NEW),
        finish_step("s1"),
        c.ReportUncertain(action_id="t2.s2", reason="crashed"),
    )
    assert [action.spec.id for action in undecided_actions(session_after(*uncertain, approve).turn)] == ["t2.s2"]


# --- cancelling


@pytest.mark.parametrize(
    "lines",
    [
        APPROVED,
        RUNS,
        (*RUNS, c.Pause()),
        (*RUNS, say("hm"), finish_step("s1")),
        (*DRAFTED, plan(ASK, LOOK), approve, c.Start(), finish_step("s1"), _ask),
        (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve),
        (*DRAFTED, plan(WAIT), approve, c.Wait(actions=(Waiting(action_id="t2.s7", until=NOON),))),
        (*RUNS, c.Stop()),
        FAILED_PLAN,
    ],
    ids=["executing", "running", "paused", "answering", "asking", "approving", "waiting", "stopped", "failed"],
)
def test_a_plan_can_be_cancelled_in_every_phase_and_outcomes_are_recorded(lines: tuple[StoryLine, ...]) -> None:
    running_ids = [action.spec.id for action in running_actions(session_after(*lines))]
    session = session_after(*lines, c.CancelPlan())
    assert (session.phase, session.work, session.question, task_status(session)) == ("resting", None, None, "cancelled")
    assert session.turn
    assert not session.waiting_actions  # the timers have ended
    assert {a.status for a in session.turn.actions} <= {"finished", "failed", "skipped", "started"}
    for action_id in running_ids:
        session = given(finish_action(action_id=action_id, ok=True, result=1), begin=session).session
        action = find_action(session, action_id)
        assert action
        assert (action.status, session.phase) == ("finished", "resting")
    for command in (c.Retry(), c.CancelPlan(), c.Resume()):
        given(begin=session).when(command).refused(OutOfTurn)


def test_a_cancelled_plan_stays_cancelled() -> None:
    done: tuple[Any, ...] = (*DRAFTED, plan(LOOK), approve, c.Start(), finish_step("s1"), verdict())
    given(*done).when(c.CancelPlan()).refused(OutOfTurn, "completed already")
    late = session_after(*RUNS, c.CancelPlan(), finish_step("s1", ok=False))
    assert (late.phase, task_status(late)) == ("resting", "cancelled")


# --- the reason of a version


def test_a_draft_records_the_message_that_led_to_it() -> None:
    def reason(*lines: StoryLine) -> str:
        event = given(*lines).when(plan(LOOK, CANCEL)).then_event()
        assert isinstance(event, facts.PlanDrafted)
        return event.reason

    assert reason(*DRAFTED) == "cancel my order"
    assert reason(*DRAFTED, c.Ask(text="Which?"), c.Answer(text="#W1")) == "cancel my order"
    first = (*DRAFTED, plan(LOOK))
    assert reason(*first, reject, say("look it up twice")) == "look it up twice"
    assert reason(*first, say("cancel it, too")) == "cancel it, too"  # a remark
    running = (*first, approve, c.Start(), say("cancel it"), say("now"), finish_step("s1"))
    assert reason(*running) == "cancel it\nnow"
    assert reason(*first, reject, say("x" * 900)) == "x" * 499 + "…"
