"""A plan that is being carried out, and a person who says something, edits it, or gives it up meanwhile."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, Waiting
from shared.domain import commands as c
from shared.domain.decide import due
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.plan_steps import task_status
from shared.domain.session import Session, put_back, undecided
from shared.domain.waves import find, ready, running
from shared.story import finish
from tests.unit.domain.spec import NOON, StoryLine, approve, given, reject, say, verdict
from tests.unit.domain.test_execution_plan import (
    CANCEL,
    DRAFTED,
    LOOK,
    PAY,
    STUCK,
    edited,
    ended,
    plan,
    resolve,
    status,
    told,
)

APPROVED: tuple[StoryLine, ...] = (*DRAFTED, plan(LOOK, CANCEL), approve)
RUNS: tuple[StoryLine, ...] = (*APPROVED, c.Start())
ANSWERED = c.AnswerRemark(text="It looks the order up.")
NEW = LOOK.model_copy(update={"id": "s9", "arguments": {"order": "#W9"}})
WAIT = Step(text="Wait", tool="wait_until", id="s7", effect="read", waits_for="time")
ASK = Step(text="Ask", tool="wait_person", id="s8", effect="read", waits_for="person")


def words(session: Session) -> tuple[str, ...]:
    return session.words.remark.texts if session.words.remark else ()


# --- words


def test_words_while_a_wave_runs_hold_the_plan_when_it_has_ended() -> None:
    said = given(*RUNS).when(say("what is this?")).then("message.received", intent="guidance")
    said.leaves("executing", "nobody", unread=("what is this?",))
    assert said.session.work  # what runs, runs on
    held = told(*RUNS, say("what is this?"), ended("s1"))
    assert (held.phase, due(held), words(held), held.words.unread) == ("planning", "planner", ("what is this?",), ())
    assert (status(held)["t2.s2"], task_status(held)) == ("planned", "executing")


def test_after_an_answer_in_words_the_plan_goes_on_by_itself() -> None:
    session = told(*RUNS, say("what is this?"), ended("s1"), ANSWERED)
    assert (session.phase, due(session), session.words.reply) == ("executing", "executor", ANSWERED.text)
    assert [action.spec.id for action in ready(session.turn)] == ["t2.s2"]
    assert told(*RUNS, say("what is this?"), ended("s1"), ANSWERED, c.Start(), ended("s2")).phase == "verifying"


def test_a_draft_instead_puts_a_version_in_review_with_what_was_done() -> None:
    session = told(*RUNS, say("cancel nothing"), ended("s1"), plan(LOOK, NEW))
    assert session.plan
    assert (session.phase, session.plan.task, session.turn) == ("awaiting_approval", "t2", None)
    again = told(*RUNS, say("cancel nothing"), ended("s1"), plan(LOOK, NEW), approve)
    assert status(again) == {"t2.s1": "finished", "t2.s9": "planned"}
    with pytest.raises(Invalid, match=r"\(s1\) has been begun"):
        told(*RUNS, say("another one"), ended("s1"), plan(NEW.model_copy(update={"id": "s1"})))


def test_words_before_the_first_step_begins_are_answered_first() -> None:
    held = told(*APPROVED, say("wait, which order?"))
    assert (held.phase, due(held), words(held)) == ("planning", "planner", ("wait, which order?",))
    assert told(*APPROVED, say("wait, which order?"), ANSWERED).phase == "executing"
    given(*APPROVED, say("wait, which order?")).when(c.Start()).refused(OutOfTurn)


def test_words_are_answered_together_and_a_question_about_them_can_be_asked() -> None:
    both = told(*RUNS, say("one"), say("two"), ended("s1"), say("three"))
    assert (both.phase, words(both)) == ("planning", ("one", "two", "three"))
    asked = (*RUNS, say("another order"), ended("s1"), c.Ask(text="Which one?"))
    assert told(*asked).phase == "awaiting_input"
    assert told(*asked, c.Answer(text="#W9"), ANSWERED).phase == "executing"
    assert told(*asked, c.Answer(text="#W9"), plan(LOOK, NEW)).phase == "awaiting_approval"


def test_words_at_the_last_step_are_answered_before_the_plan_is_judged() -> None:
    last = (*DRAFTED, plan(LOOK), approve, c.Start(), say("and now?"), ended("s1"))
    held = told(*last)
    assert (held.phase, held.plan and held.plan.status) == ("planning", "executing")
    assert told(*last, ANSWERED).phase == "verifying"
    assert told(*last, plan(LOOK, NEW)).phase == "awaiting_approval"
    judging = (*DRAFTED, plan(LOOK), approve, c.Start(), ended("s1"), say("and now?"))
    assert told(*judging).phase == "planning"
    assert told(*judging, ANSWERED).phase == "verifying"


def test_words_while_values_are_shown_are_answered_and_the_approval_still_waits() -> None:
    lines = (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), ended("s1"), resolve)
    assert undecided(told(*lines).turn)
    remarked = told(*lines, say("why so much?"))
    assert (remarked.phase, put_back(remarked).phase) == ("planning", "awaiting_approval")
    answered = told(*lines, say("why so much?"), ANSWERED)
    assert (answered.phase, len(undecided(answered.turn))) == ("awaiting_approval", 1)
    # a decision in the meantime is taken at once, and the words are answered before the step begins
    meanwhile = told(*lines, say("why so much?"), c.Approve(version=answered.version, action_id="t2.s4"))
    assert (meanwhile.phase, words(meanwhile)) == ("planning", ("why so much?",))
    assert ready(told(*lines, say("why?"), c.Approve(version=99, action_id="t2.s4"), ANSWERED).turn)


def test_what_a_person_does_while_their_words_are_answered_counts_at_once() -> None:
    held = (*RUNS, say("hm"), ended("s1"))
    skipped = told(*held, c.Skip(action_id="t2.s2"))
    assert (skipped.phase, status(skipped)["t2.s2"], words(skipped)) == ("planning", "skipped", ("hm",))
    assert told(*held, c.Skip(action_id="t2.s2"), ANSWERED).phase == "verifying"
    assert told(*held, edited(LOOK, NEW)).phase == "awaiting_approval"
    cancelled = told(*held, c.CancelPlan())
    assert (cancelled.phase, cancelled.work, status(cancelled)["t2.s2"]) == ("resting", None, "skipped")


def test_a_stop_stops_the_plan_and_the_words_are_answered_when_it_goes_on() -> None:
    held = (*RUNS, say("hm"), ended("s1"), c.Stop())
    stopped = told(*held)
    assert (stopped.phase, stopped.rest_reason, stopped.words.unread) == ("resting", "stopped", ("hm",))
    assert status(stopped)["t2.s2"] == "skipped"
    again = told(*held, c.Retry())
    assert (again.phase, words(again), status(again)["t2.s2"]) == ("planning", ("hm",), "planned")
    assert told(*held, c.Retry(), ANSWERED).phase == "executing"


def test_a_pause_holds_words_and_plan_until_it_ends() -> None:
    paused = told(*RUNS, c.Pause(), say("hm"), ended("s1"))
    assert (paused.phase, paused.paused, paused.work, words(paused)) == ("planning", True, None, ("hm",))
    assert told(*RUNS, c.Pause(), say("hm"), ended("s1"), c.Resume(), ANSWERED).phase == "executing"
    later = told(*RUNS, say("hm"), ended("s1"), c.Pause(), ANSWERED)
    assert (later.phase, later.paused, later.work) == ("executing", True, None)
    assert due(told(*RUNS, say("hm"), ended("s1"), c.Pause(), ANSWERED, c.Resume())) == "executor"


def test_a_planner_that_fails_at_the_words_is_tried_again_and_the_plan_is_not_lost() -> None:
    failed = (*RUNS, say("hm"), ended("s1"), c.Fail(reason="the model is away"))
    assert (told(*failed).phase, task_status(told(*failed))) == ("failed", "failed")
    assert words(told(*failed, c.Retry())) == ("hm",)
    assert told(*failed, c.Retry(), ANSWERED).phase == "executing"


def test_words_during_a_doubt_are_read_once_it_is_settled() -> None:
    doubt = (*DRAFTED, plan(CANCEL.model_copy(update={"after": ()}), LOOK), approve, c.Start(), say("hm"), ended("s1"))
    asked = told(*doubt, c.Uncertain(action_id="t2.s2", reason="crashed"))
    assert (asked.phase, asked.words.unread) == ("awaiting_input", ("hm",))
    cleared = told(*doubt, c.Uncertain(action_id="t2.s2", reason="crashed"), c.Answer(text="It happened"))
    assert (cleared.phase, words(cleared)) == ("planning", ("hm",))


# --- edits


def test_an_edit_lets_the_wave_end_and_begins_nothing_new() -> None:
    session = told(*RUNS, edited(LOOK, CANCEL, NEW))
    assert (session.phase, session.work, session.turn) == ("awaiting_approval", None, None)
    assert [action.spec.id for action in session.left_running] == ["t2.s1"]
    given(*RUNS, edited(LOOK, CANCEL, NEW)).when(approve).refused(OutOfTurn, "still running")
    after = told(*RUNS, edited(LOOK, CANCEL, NEW), ended("s1"))
    assert (after.phase, after.left_running) == ("awaiting_approval", ())
    again = told(*RUNS, edited(LOOK, CANCEL, NEW), ended("s1"), approve)
    assert status(again) == {"t2.s1": "finished", "t2.s2": "planned", "t2.s9": "planned"}


def test_a_step_that_was_begun_is_not_edited_into_another_while_it_runs() -> None:
    other = LOOK.model_copy(update={"arguments": {"order": "#W2"}})
    given(*RUNS).when(edited(other, CANCEL)).refused(Invalid, "Step 1 (s1) has been begun")
    later = CANCEL.model_copy(update={"arguments": {"order": "#W2"}})
    assert told(*RUNS, edited(LOOK, later)).phase == "awaiting_approval"


def test_an_edit_is_made_at_any_moment_of_a_plan_that_runs() -> None:
    moments: dict[str, tuple[StoryLine, ...]] = {
        "executing": APPROVED,
        "paused": (*RUNS, c.Pause()),
        "asking": (*DRAFTED, plan(ASK, LOOK), approve, c.Start(), ended("s1"), _ask),
        "judging": (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), ended("s1", ok=False)),
        "telling": (*DRAFTED, plan(LOOK), approve, c.Start(), ended("s1"), verdict()),
        "resting": STUCK,
    }
    for lines in moments.values():
        before = told(*lines)
        assert before.plan
        session = told(*lines, edited(*before.plan.steps, NEW))
        assert (session.phase, session.work, session.question) == ("awaiting_approval", None, None)


def _ask(session: Session) -> c.Ask:
    return c.Ask(text="Which?", about="action", action_id="t2.s8")


def test_an_edit_is_refused_while_another_version_is_drafted() -> None:
    drafting = (*DRAFTED, plan(LOOK), c.Reject(version=2), say("otherwise"))
    given(*drafting).when(edited(LOOK, NEW)).refused(OutOfTurn, "Stop it first")


def test_an_outcome_in_doubt_after_an_edit_is_asked_about_before_the_step_runs_again() -> None:
    both = (*DRAFTED, plan(LOOK, CANCEL.model_copy(update={"after": ()})), approve, c.Start())
    doubt = (*both, edited(LOOK, CANCEL, NEW), ended("s1"), c.Uncertain(action_id="t2.s2", reason="crashed"))
    assert [action.spec.id for action in undecided(told(*doubt, approve).turn)] == ["t2.s2"]


# --- cancelling


@pytest.mark.parametrize(
    "lines",
    [
        APPROVED,
        RUNS,
        (*RUNS, c.Pause()),
        (*RUNS, say("hm"), ended("s1")),
        (*DRAFTED, plan(ASK, LOOK), approve, c.Start(), ended("s1"), _ask),
        (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), ended("s1"), resolve),
        (*DRAFTED, plan(WAIT), approve, c.Wait(actions=(Waiting(action_id="t2.s7", until=NOON),))),
        (*RUNS, c.Stop()),
        STUCK,
    ],
    ids=["executing", "running", "paused", "answering words", "asking", "approving", "waiting", "stopped", "failed"],
)
def test_a_plan_is_cancelled_in_every_phase_and_what_runs_is_still_recorded(lines: tuple[StoryLine, ...]) -> None:
    under_way = [action.spec.id for action in running(told(*lines))]
    session = told(*lines, c.CancelPlan())
    assert (session.phase, session.work, session.question, task_status(session)) == ("resting", None, None, "cancelled")
    assert session.turn
    assert not session.turn.waiting  # timers have ended
    assert {a.status for a in session.turn.actions} <= {"finished", "failed", "skipped", "started"}
    for name in under_way:
        session = given(finish(action_id=name, ok=True, result=1), begin=session).session
        action = find(session, name)
        assert action
        assert (action.status, session.phase) == ("finished", "resting")
    for command in (c.Retry(), c.CancelPlan(), c.Resume()):
        given(begin=session).when(command).refused(OutOfTurn)


def test_a_cancelled_plan_is_over_for_good() -> None:
    done: tuple[Any, ...] = (*DRAFTED, plan(LOOK), approve, c.Start(), ended("s1"), verdict())
    given(*done).when(c.CancelPlan()).refused(OutOfTurn, "completed already")
    late = told(*RUNS, c.CancelPlan(), ended("s1", ok=False))
    assert (late.phase, task_status(late)) == ("resting", "cancelled")


# --- what led to a version


def test_a_draft_says_which_words_led_to_it() -> None:
    def reason(*lines: StoryLine) -> str:
        event = given(*lines).when(plan(LOOK, CANCEL)).then_event()
        assert isinstance(event, facts.PlanDrafted)
        return event.reason

    assert reason(*DRAFTED) == "cancel my order"
    assert reason(*DRAFTED, c.Ask(text="Which?"), c.Answer(text="#W1")) == "cancel my order"
    first = (*DRAFTED, plan(LOOK))
    assert reason(*first, reject, say("look it up twice")) == "look it up twice"
    assert reason(*first, say("cancel it, too")) == "cancel it, too"  # a remark
    running = (*first, approve, c.Start(), say("cancel it"), say("now"), ended("s1"))
    assert reason(*running) == "cancel it\nnow"
    assert reason(*first, reject, say("x" * 900)) == "x" * 499 + "…"
