"""The user sends a message to a running execution plan, edits it or cancels it."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, Waiting
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.wording import NOT_ANSWERED
from shared.domain.rules.decide import due
from shared.domain.steps.plan_steps import task_status
from shared.domain.turn.batches import find_action, next_batch, running_actions
from shared.story import finish_action
from tests.unit.domain.spec import (
    NOON,
    StoryLine,
    answer,
    approve,
    checked,
    draft,
    edit_code,
    given,
    program,
    reject,
    say,
    unread,
    verdict,
)
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


def reads_and_changes(*lines: StoryLine) -> Session:
    """The session after these lines, which begin while the first of two steps, a read and a change, runs."""
    return session_after(*RUNS, *lines)


# --- messages


def test_a_message_during_a_batch_is_answered_beside_it() -> None:
    after = given(*RUNS).when(say("what is this?")).then("message.received", intent="guidance")
    after.leaves("executing", "planner", unread=("what is this?",))
    assert after.session.work  # the batch continues
    ended = reads_and_changes(say("what is this?"), finish_step("s1"))
    assert (ended.phase, ended.work, unread(ended)) == ("executing", None, ("what is this?",))  # a change would begin
    assert (status(ended)["t2.s2"], task_status(ended)) == ("planned", "executing")


def test_after_an_answer_to_a_message_the_plan_continues() -> None:
    for answered_first in (True, False):
        ended, answered = finish_step("s1"), ANSWERED
        session = reads_and_changes(say("what?"), *((answered, ended) if answered_first else (ended, answered)))
        assert (session.phase, due(session), session.words.reply) == ("executing", "executor", ANSWERED.text)
        assert [action.spec.id for action in next_batch(session.turn)] == ["t2.s2"]
        assert session_after(c.Start(), finish_step("s2"), begin=session).phase == "verifying"


def test_reads_and_timers_go_on_while_a_message_is_unanswered() -> None:
    reads = (*DRAFTED, plan(LOOK, LOOK.model_copy(update={"id": "s5", "after": ("s1",)}), WAIT), approve)
    asked = session_after(*reads, c.Wait(actions=(Waiting(action_id="t2.s7", until=NOON),)), say("how long?"))
    begun = session_after(c.Start(), finish_step("s1"), c.Start(), finish_step("s5"), c.Wake(), begin=asked)
    assert (begun.phase, begun.reply, set(status(begun).values())) == ("verifying", asked.reply, {"finished"})


def test_a_draft_instead_of_an_answer_is_offered_beside_the_plan() -> None:
    offered = reads_and_changes(say("cancel nothing"), finish_step("s1"), plan(LOOK, NEW))
    assert (offered.phase, offered.work, offered.plan and offered.plan.version) == ("executing", None, 2)
    taken = session_after(c.TakeOffer(), begin=offered)
    assert taken.plan
    assert (taken.phase, taken.plan.task, taken.turn) == ("awaiting_approval", "t2", None)
    assert status(session_after(approve, begin=taken)) == {"t2.s1": "finished", "t2.s9": "planned"}
    kept = session_after(c.KeepOffer(), begin=offered)
    assert (kept.phase, due(kept), kept.plan) == ("executing", "executor", offered.plan)
    with pytest.raises(Invalid, match=r"\(s1\) has already started"):
        reads_and_changes(say("another one"), finish_step("s1"), plan(NEW.model_copy(update={"id": "s1"})))


def test_a_message_before_the_first_step_is_answered_before_it_changes_anything() -> None:
    changes = (*DRAFTED, plan(CANCEL.model_copy(update={"after": ()})), approve)
    waiting = session_after(*changes, say("wait, which order?"))
    assert (waiting.phase, waiting.work, due(waiting)) == ("executing", None, "planner")
    given(begin=waiting).when(c.Start(), work=session_after(*changes).work).refused(OutOfTurn, "no longer yours")
    assert due(session_after(ANSWERED, begin=waiting)) == "executor"


def test_messages_are_answered_together_and_a_planner_cannot_ask_while_the_plan_waits() -> None:
    lines = (say("one"), say("two"), finish_step("s1"), say("three"))
    both = reads_and_changes(*lines)
    assert (due(both), unread(both)) == ("planner", ("one", "two", "three"))
    assert unread(reads_and_changes(*lines, ANSWERED)) == ()
    asked = given(*RUNS, *lines).when(c.Ask(text="Which one?")).then("remark.answered", text="Which one?")
    asked.leaves("executing", "executor", question=None)


def test_a_message_that_came_while_another_was_answered_is_answered_next() -> None:
    earlier = reads_and_changes(say("one"), finish_step("s1")).reply
    given(*RUNS, say("one"), finish_step("s1"), say("two")).when(ANSWERED, work=earlier).refused(OutOfTurn)
    reviewed = (say(), draft(), approve, program(), checked(), say("why?"), edit_code("x = 2"), say("and floats?"))
    answered = given(*reviewed, begin=None).when(ANSWERED).then("remark.answered", actor="generator")
    answered.leaves("verifying", "nobody", unread=("and floats?",))  # the program is written again


def test_a_message_at_the_last_step_is_answered_beside_the_verification() -> None:
    last = (*DRAFTED, plan(LOOK), approve, c.Start(), say("and now?"), finish_step("s1"))
    waiting = session_after(*last)
    assert (waiting.phase, waiting.works[1:], waiting.plan and waiting.plan.status) == (
        "verifying",
        (waiting.reply,),
        "executing",
    )
    assert session_after(*last, ANSWERED).phase == "verifying"
    assert session_after(*last, verdict(), answer()).reply == waiting.reply
    assert session_after(*last, plan(LOOK, NEW), c.TakeOffer()).phase == "awaiting_approval"


def test_a_message_during_an_approval_is_answered_and_the_approval_still_waits() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve)
    assert undecided_actions(session_after(*lines).turn)
    asked = session_after(*lines, say("why so much?"))
    assert (asked.phase, due(asked)) == ("awaiting_approval", "planner")
    answered = session_after(*lines, say("why so much?"), ANSWERED)
    assert (answered.phase, len(undecided_actions(answered.turn))) == ("awaiting_approval", 1)
    # an approval meanwhile takes effect at once, and the message is answered before the step begins
    meanwhile = session_after(*lines, say("why so much?"), c.Approve(version=answered.version, action_id="t2.s4"))
    assert (meanwhile.phase, meanwhile.work, meanwhile.reply) == ("executing", None, asked.reply)
    assert due(session_after(ANSWERED, begin=meanwhile)) == "executor"


def test_the_words_of_a_denial_are_answered_before_the_plan_ends() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve)
    denied = given(*lines).when(c.Reject(action_id="t2.s4", reason="half of it")).then("approval.denied")
    denied.leaves("verifying", "planner", work=None, unread=("half of it",))
    denied.given.when(ANSWERED).then("remark.answered").leaves("verifying", "verifier")
    offered = denied.given.when(plan(LOOK, NEW)).then("offer.made").leaves("verifying", "verifier")
    offered.given.when(c.TakeOffer()).then("plan.drafted").leaves("awaiting_approval", "user")
    given(*lines).when(c.Reject(action_id="t2.s4")).then("approval.denied").leaves("verifying", "verifier")


def test_decisions_while_a_message_is_answered_take_effect_at_once() -> None:
    lines = (*RUNS, say("hm"), finish_step("s1"))
    skipped = session_after(*lines, c.Skip(action_id="t2.s2"))
    assert (skipped.phase, status(skipped)["t2.s2"], unread(skipped)) == ("verifying", "skipped", ("hm",))
    edited_plan = session_after(*lines, edited(LOOK, NEW))
    assert (edited_plan.phase, unread(edited_plan), edited_plan.reply is None) == ("awaiting_approval", ("hm",), False)
    cancelled = session_after(*lines, c.CancelPlan())
    assert (cancelled.phase, cancelled.work, status(cancelled)["t2.s2"]) == ("resting", None, "skipped")
    assert session_after(*lines, c.CancelPlan(), ANSWERED).phase == "resting"


def test_a_stop_stops_the_plan_and_withdraws_the_message() -> None:
    lines = (*RUNS, say("hm"), finish_step("s1"), c.Stop())
    stopped = session_after(*lines)
    assert (stopped.phase, stopped.rest_reason, stopped.works, unread(stopped)) == ("resting", "stopped", (), ())
    assert status(stopped)["t2.s2"] == "skipped"
    again = session_after(*lines, c.Retry())
    assert (again.phase, due(again), status(again)["t2.s2"]) == ("executing", "executor", "planned")


def test_a_message_is_answered_during_a_pause_and_the_plan_goes_on_after_both() -> None:
    paused = reads_and_changes(c.Pause(), say("hm"), finish_step("s1"))
    assert (paused.phase, paused.paused, paused.works) == ("executing", True, (paused.reply,))
    held = session_after(c.Resume(), begin=paused)
    assert (held.phase, held.work) == ("executing", None)
    assert due(session_after(ANSWERED, begin=held)) == "executor"
    later = session_after(ANSWERED, begin=paused)
    assert (later.phase, later.paused, later.works) == ("executing", True, ())
    assert due(session_after(c.Resume(), begin=later)) == "executor"


def test_a_message_that_cannot_be_answered_is_told_so_and_the_plan_goes_on() -> None:
    lines = (*RUNS, say("hm"), finish_step("s1"))
    told = given(*lines).when(c.Fail(reason="The model is away.")).then("remark.answered")
    told.leaves("executing", "executor")
    assert told.session.words.reply == NOT_ANSWERED.format(reason="The model is away")
    by_keeper = given(*lines).when(c.Fail(reason="lost"), KEEPER).then("remark.answered", actor=KEEPER)
    assert by_keeper.session.transcript[-1].by == "planner"
    failed = session_after(*RUNS, say("hm"), lambda session: c.Fail(reason="the executor is away"))
    assert (failed.phase, task_status(failed), unread(failed)) == ("failed", "failed", ("hm",))
    assert session_after(ANSWERED, begin=failed).phase == "failed"
    assert session_after(c.Retry(), ANSWERED, begin=failed).phase == "executing"


def test_a_message_is_answered_while_the_user_settles_an_uncertain_outcome() -> None:
    uncertain = (
        *DRAFTED,
        plan(CANCEL.model_copy(update={"after": ()}), LOOK),
        approve,
        c.Start(),
        say("hm"),
        finish_step("s1"),
        c.ReportUncertain(action_id="t2.s2", reason="crashed"),
    )
    asked = session_after(*uncertain)
    assert (asked.phase, asked.reply is not None, unread(asked)) == ("awaiting_input", True, ("hm",))
    assert session_after(*uncertain, ANSWERED).question == asked.question
    cleared = session_after(*uncertain, c.Answer(text="It happened"))
    assert (cleared.phase, cleared.reply, unread(cleared)) == ("verifying", asked.reply, ("hm",))


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
    assert reason(*first, say("cancel it, too")) == "cancel it, too"
    rests = (*first, approve, c.Start(), finish_step("s1", ok=False), verdict("complete", "failure"), answer())
    assert reason(*rests, say("cancel it"), say("now")) == "cancel it\nnow"
    running = given(*first, approve, c.Start(), say("cancel it"), say("now"), plan(LOOK, CANCEL))
    taken = running.when(c.TakeOffer()).then_event()
    assert isinstance(taken, facts.PlanDrafted)
    assert taken.reason == "cancel it\nnow"
    assert reason(*first, reject, say("x" * 900)) == "x" * 499 + "…"
