"""Plan steps that wait for the user or for a time while other steps run."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, Waiting
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.state_names import state_name
from shared.domain.rules.admissible import admissible
from shared.domain.rules.decide import decide, due
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.steps.waiting_steps import MAX_WAIT, due_steps, next_wake
from shared.domain.turn.batches import next_batch
from shared.story import finish_action
from tests.unit.domain.spec import NOON, StoryLine, approve, feedback, given, request, say, verdict

LATER = NOON + timedelta(hours=1)
LOOK = Step(text="Look", tool="look", id="s1", effect="read")
WAIT = Step(text="Wait", tool="wait_until", id="s2", effect="read", waits_for="time")
ASK = Step(text="Ask", tool="ask_person", id="s3", effect="read", waits_for="person")
AFTER_WAIT = Step(text="Look again", tool="look", id="s4", effect="read", after=("s2",))
WRITE = Step(text="Note the answer", tool="note", id="s5", effect="write", arguments={"text": "{{steps.s3.output}}"})


def approved_plan(*steps: Step) -> tuple[StoryLine, ...]:
    return (request("execution_plan"), c.DraftPlan(goal="Wait", steps=steps, kind="execution"), approve)


def wait(*steps: str, until: datetime = LATER) -> c.Wait:
    return c.Wait(actions=tuple(Waiting(action_id=f"t2.{step}", until=until) for step in steps))


def ask(step: str = "s3") -> c.Ask:
    return c.Ask(text="Which colour?", about="action", action_id=f"t2.{step}", options=("Red", "Blue"))


def finish_step(step: str, result: Any = "x") -> c.Finish:
    return finish_action(action_id=f"t2.{step}", result=result)


def session_after(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def status(session: Session) -> dict[str, str]:
    return {a.spec.id.removeprefix("t2."): a.status for a in session.turn.actions} if session.turn else {}


def wake(session: Session, at: datetime = LATER) -> Session:
    return session_after(decide(session, c.Wake(), CommandMeta("keeper", at)), begin=session)


def test_a_step_waits_while_other_steps_run() -> None:
    waiting = session_after(*approved_plan(LOOK, WAIT, AFTER_WAIT), wait("s2"))
    assert (waiting.phase, status(waiting)) == ("executing", {"s1": "planned", "s2": "waiting", "s4": "planned"})
    looked = session_after(*approved_plan(LOOK, WAIT, AFTER_WAIT), wait("s2"), c.Start(), finish_step("s1"))
    assert (looked.phase, looked.work, state_name(looked), next_wake(looked)) == ("waiting", None, "waiting", LATER)
    awake = wake(looked)
    assert (awake.phase, [a.spec.id for a in next_batch(awake.turn)], next_wake(awake)) == (
        "executing",
        ["t2.s4"],
        None,
    )
    assert awake.turn
    assert awake.turn.actions[1].result == {"until": LATER.isoformat()}


def test_the_first_wake_ends_only_the_waits_that_are_due() -> None:
    other = WAIT.model_copy(update={"id": "s6"})
    waits = c.Wait(actions=(*wait("s2").actions, *wait("s6", until=LATER + timedelta(hours=1)).actions))
    waiting = session_after(*approved_plan(WAIT, other), waits)
    assert (waiting.phase, next_wake(waiting)) == ("waiting", LATER)
    assert due_steps(waiting, LATER - timedelta(seconds=1)) == ()
    first = wake(waiting)
    assert (first.phase, status(first)) == ("waiting", {"s2": "finished", "s6": "waiting"})
    assert wake(first, LATER + timedelta(hours=1)).phase == "verifying"


def test_only_the_keeper_wakes_steps_and_only_when_they_are_due() -> None:
    waiting = session_after(*approved_plan(WAIT), wait("s2"))
    with pytest.raises(OutOfTurn, match="time that has come"):
        wake(waiting, LATER - timedelta(seconds=1))
    event = decide(waiting, c.Wake(), CommandMeta("keeper", LATER))
    assert admissible(waiting, event) == ""
    assert "only the keeper" in admissible(waiting, event.model_copy(update={"actor": "executor"}))
    early = event.model_copy(update={"at": LATER - timedelta(seconds=1)})
    assert "does not wait" in admissible(waiting, early)


def test_only_a_step_that_waits_for_a_time_can_wait() -> None:
    lines = approved_plan(LOOK, WAIT, ASK)
    given(*lines).when(wait("s1")).refused(Invalid, "not a step that waits for a time")
    given(*lines).when(wait("s3")).refused(Invalid, "not a step that waits for a time")
    given(*lines).when(wait("s2", until=NOON + MAX_WAIT * 2)).refused(Invalid, "longer than 90 days")
    given(*lines).when(c.Start()).refused(OutOfTurn, "it waits")
    waiting = decide(session_after(*lines), wait("s2"), CommandMeta("executor", LATER, work=session_after(*lines).work))
    assert isinstance(waiting, facts.ActionsWaiting)
    wrong = waiting.model_copy(update={"actions": wait("s1").actions})
    assert "not a step that waits" in admissible(session_after(*lines), wrong)


def test_a_step_does_not_wait_before_the_values_that_it_needs_are_known() -> None:
    until_found = WAIT.model_copy(update={"arguments": {"until": "{{steps.s1.output}}"}})
    lines = (*approved_plan(LOOK, until_found), c.Start(), finish_step("s1"))
    given(*lines).when(wait("s2")).refused(Invalid, "are not known yet")


def test_a_step_that_does_not_poll_records_no_poll() -> None:
    steps = session_after(*approved_plan(LOOK, WAIT))
    poll = c.RecordPoll(action_id="t2.s1", attempt=1, polls=1, value=1)
    given(begin=steps).when(poll).refused(OutOfTurn, "does not poll now")


def test_a_question_is_asked_last_and_its_answer_is_the_output() -> None:
    lines = approved_plan(ASK, LOOK, WRITE)
    assert [a.spec.id for a in next_batch(session_after(*lines).turn)] == ["t2.s1"]
    given(*lines).when(ask("s1")).refused(Invalid, "does not ask the user")
    asked = session_after(*lines, c.Start(), finish_step("s1"), ask())
    assert (asked.phase, status(asked)["s3"]) == ("awaiting_input", "asked")
    answered = session_after(*lines, c.Start(), finish_step("s1"), ask(), c.Answer(text="Blue"))
    assert (answered.phase, status(answered)["s3"]) == ("executing", "finished")
    assert answered.turn
    assert answered.turn.actions[0].result == "Blue"


def test_a_wake_during_a_question_lets_other_steps_run_first() -> None:
    lines = (*approved_plan(WAIT, ASK, AFTER_WAIT), wait("s2"), ask())
    asked = session_after(*lines)
    assert (asked.phase, status(asked)["s2"]) == ("awaiting_input", "waiting")
    awake = wake(asked)
    assert (awake.phase, awake.question, status(awake)["s3"]) == ("executing", None, "planned")
    again = session_after(c.Start(), finish_step("s4"), ask(), begin=awake)
    assert (again.phase, status(again)["s3"]) == ("awaiting_input", "asked")
    alone = wake(session_after(*approved_plan(WAIT, ASK), wait("s2"), ask()))
    assert (alone.phase, status(alone)) == ("awaiting_input", {"s2": "finished", "s3": "asked"})


def test_a_waiting_step_can_be_skipped() -> None:
    for lines in (approved_plan(WAIT, AFTER_WAIT), approved_plan(WAIT, LOOK, AFTER_WAIT)):
        begins = (*lines, wait("s2"))
        skipped = session_after(*begins, c.Skip(action_id="t2.s2"))
        assert (skipped.phase, status(skipped)["s2"]) == ("executing", "skipped")
        assert "t2.s4" in [a.spec.id for a in next_batch(skipped.turn)]
    skipped_question = session_after(*approved_plan(ASK), ask(), c.Skip(action_id="t2.s3"))
    assert (skipped_question.phase, skipped_question.question) == ("verifying", None)


def test_a_wake_during_a_pause_starts_nothing() -> None:
    paused = session_after(*approved_plan(WAIT, AFTER_WAIT), wait("s2"), c.Pause())
    assert (paused.phase, paused.paused) == ("waiting", True)
    awake = wake(paused)
    assert (awake.phase, awake.paused, awake.work) == ("executing", True, None)
    assert session_after(c.Resume(), begin=awake).work


def test_a_stop_ends_the_wait_and_a_retry_starts_it_again() -> None:
    stopped = session_after(*approved_plan(WAIT), wait("s2"), c.Stop())
    assert (stopped.phase, status(stopped), next_wake(stopped)) == ("resting", {"s2": "skipped"}, None)
    again = session_after(c.Retry(), begin=stopped)
    assert (again.phase, status(again)) == ("executing", {"s2": "planned"})
    cancelled = session_after(*approved_plan(WAIT), wait("s2"), c.CancelPlan())
    assert (cancelled.phase, next_wake(cancelled)) == ("resting", None)


@pytest.mark.parametrize("message", [say, feedback])
def test_a_message_during_a_wait_is_answered_and_the_wait_continues(message: Callable[[str], c.Say]) -> None:
    asked = session_after(*approved_plan(WAIT, AFTER_WAIT), wait("s2"), message("How long?"))
    assert (asked.phase, due(asked)) == ("waiting", "planner")
    answered = session_after(c.AnswerRemark(text="An hour."), begin=asked)
    assert (answered.phase, answered.words.reply) == ("waiting", "An hour.")
    assert session_after(c.Stop(), begin=asked).phase == "waiting"
    woken = wake(asked)
    assert (woken.phase, due(woken), status(woken)["s2"]) == ("executing", "executor", "finished")  # a read goes on
    assert session_after(c.AnswerRemark(text="It is over."), begin=woken).phase == "executing"
    offered = session_after(c.DraftPlan(goal="Look", steps=(LOOK,), kind="execution"), begin=asked)
    assert (offered.phase, next_wake(offered)) == ("waiting", next_wake(asked))
    taken = session_after(c.TakeOffer(), begin=offered)
    assert (taken.phase, next_wake(taken)) == ("awaiting_approval", None)


def test_a_plan_completes_after_its_wait() -> None:
    waited = wake(session_after(*approved_plan(WAIT), wait("s2")))
    assert waited.phase == "verifying"
    done = session_after(verdict(), c.GiveAnswer(text="Waited.", confidence=1), begin=waited)
    assert done.plan
    assert done.plan.status == "completed"


def test_a_failed_step_ends_waits_until_the_user_decides() -> None:
    failed = (*approved_plan(LOOK, WAIT, AFTER_WAIT), wait("s2"), c.Start(), finish_action(action_id="t2.s1", ok=False))
    halted = session_after(*failed)
    assert (halted.phase, next_wake(halted)) == ("verifying", None)
    assert status(halted) == {"s1": "failed", "s2": "skipped", "s4": "skipped"}
    open_ = session_after(verdict("complete", "failure"), c.GiveAnswer(text="It failed.", confidence=0.1), begin=halted)
    assert (open_.phase, is_unfinished(open_)) == ("resting", True)
    for command in (c.Retry(), c.Skip(action_id="t2.s1")):
        awake = session_after(command, begin=open_)
        assert (awake.phase, status(awake)["s2"], status(awake)["s4"]) == ("executing", "planned", "planned")
        assert next_wake(session_after(wait("s2"), begin=awake)) == LATER
    again = finish_action(action_id="t2.s1", attempt=2)
    left_out = session_after(c.Skip(action_id="t2.s2"), c.Retry(), c.Start(), again, begin=open_)
    assert (left_out.phase, status(left_out)["s2"]) == ("executing", "skipped")


def test_a_wake_before_the_batch_starts_asks_for_missing_approvals() -> None:
    write = Step(text="Pay", tool="pay", id="s6", effect="write", after=("s2",))
    by_setting = request("execution_plan", require_plan_approval=False)
    steps = c.DraftPlan(goal="Wait", steps=(WAIT, write, LOOK), kind="execution")
    waiting = session_after(by_setting, steps, c.BeginPlan(), wait("s2"))
    assert (waiting.phase, [a.spec.id for a in next_batch(waiting.turn)]) == ("executing", ["t2.s1"])
    awake = wake(waiting)
    assert (awake.phase, [a.spec.id for a in undecided_actions(awake.turn)]) == ("executing", ["t2.s6"])
    looked = session_after(c.Start(), finish_action(action_id="t2.s1"), begin=awake)
    assert (looked.phase, status(looked)["s6"]) == ("awaiting_approval", "planned")
