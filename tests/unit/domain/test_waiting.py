"""Steps of a plan that wait for a person or a time: the others go on meanwhile."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from parley.events import facts
from parley.events.values import Step, Waiting
from shared.domain import commands as c
from shared.domain.admissible import admissible
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.plan_steps import unfinished
from shared.domain.session import Session, undecided
from shared.domain.state_names import state_name
from shared.domain.waiting import LONGEST_WAIT, due, wakes_at
from shared.domain.waves import ready
from shared.story import finish
from tests.unit.domain.spec import NOON, StoryLine, approve, given, request, say, verdict

LATER = NOON + timedelta(hours=1)
LOOK = Step(text="Look", tool="look", id="s1", effect="read")
WAIT = Step(text="Wait", tool="wait_until", id="s2", effect="read", waits_for="time")
ASK = Step(text="Ask", tool="ask_person", id="s3", effect="read", waits_for="person")
AFTER_WAIT = Step(text="Look again", tool="look", id="s4", effect="read", after=("s2",))
WRITE = Step(text="Note the answer", tool="note", id="s5", effect="write", arguments={"text": "{{steps.s3.output}}"})


def begun(*steps: Step) -> tuple[StoryLine, ...]:
    return (request("execution_plan"), c.DraftPlan(goal="Wait", steps=steps, kind="execution"), approve)


def wait(*steps: str, until: datetime = LATER) -> c.Wait:
    return c.Wait(actions=tuple(Waiting(action_id=f"t2.{step}", until=until) for step in steps))


def ask(step: str = "s3") -> c.Ask:
    return c.Ask(text="Which colour?", about="action", action_id=f"t2.{step}", options=("Red", "Blue"))


def ended(step: str, result: Any = "x") -> c.Finish:
    return finish(action_id=f"t2.{step}", result=result)


def told(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def status(session: Session) -> dict[str, str]:
    return {a.spec.id.removeprefix("t2."): a.status for a in session.turn.actions} if session.turn else {}


def woken(session: Session, at: datetime = LATER) -> Session:
    return told(decide(session, c.Wake(), CommandMeta("keeper", at)), begin=session)


def test_a_step_waits_while_the_others_go_on() -> None:
    waiting = told(*begun(LOOK, WAIT, AFTER_WAIT), wait("s2"))
    assert (waiting.phase, status(waiting)) == ("executing", {"s1": "planned", "s2": "waiting", "s4": "planned"})
    looked = told(*begun(LOOK, WAIT, AFTER_WAIT), wait("s2"), c.Start(), ended("s1"))
    assert (looked.phase, looked.work, state_name(looked), wakes_at(looked)) == ("waiting", None, "waiting", LATER)
    on = woken(looked)
    assert (on.phase, [a.spec.id for a in ready(on.turn)], wakes_at(on)) == ("executing", ["t2.s4"], None)
    assert on.turn
    assert on.turn.actions[1].result == {"until": LATER.isoformat()}


def test_the_first_time_wakes_its_steps_and_the_others_wait_on() -> None:
    other = WAIT.model_copy(update={"id": "s6"})
    waits = c.Wait(actions=(*wait("s2").actions, *wait("s6", until=LATER + timedelta(hours=1)).actions))
    waiting = told(*begun(WAIT, other), waits)
    assert (waiting.phase, wakes_at(waiting)) == ("waiting", LATER)
    assert due(waiting, LATER - timedelta(seconds=1)) == ()
    first = woken(waiting)
    assert (first.phase, status(first)) == ("waiting", {"s2": "finished", "s6": "waiting"})
    assert woken(first, LATER + timedelta(hours=1)).phase == "verifying"


def test_nothing_is_woken_before_its_time_nor_by_anybody_else() -> None:
    waiting = told(*begun(WAIT), wait("s2"))
    with pytest.raises(OutOfTurn, match="time that has come"):
        woken(waiting, LATER - timedelta(seconds=1))
    event = decide(waiting, c.Wake(), CommandMeta("keeper", LATER))
    assert admissible(waiting, event) == ""
    assert "only the keeper" in admissible(waiting, event.model_copy(update={"actor": "executor"}))
    early = event.model_copy(update={"at": LATER - timedelta(seconds=1)})
    assert "does not wait" in admissible(waiting, early)


def test_only_a_step_that_waits_for_a_time_can_wait() -> None:
    lines = begun(LOOK, WAIT, ASK)
    given(*lines).when(wait("s1")).refused(Invalid, "no step that waits for a time")
    given(*lines).when(wait("s3")).refused(Invalid, "no step that waits for a time")
    given(*lines).when(wait("s2", until=NOON + LONGEST_WAIT * 2)).refused(Invalid, "longer than 90 days")
    given(*lines).when(c.Start()).refused(OutOfTurn, "it waits")
    waiting = decide(told(*lines), wait("s2"), CommandMeta("executor", LATER, work=told(*lines).work))
    assert isinstance(waiting, facts.ActionsWaiting)
    wrong = waiting.model_copy(update={"actions": wait("s1").actions})
    assert "no step that could wait" in admissible(told(*lines), wrong)


def test_a_person_is_asked_when_nothing_else_can_begin_and_their_answer_is_the_output() -> None:
    lines = begun(ASK, LOOK, WRITE)
    assert [a.spec.id for a in ready(told(*lines).turn)] == ["t2.s1"]
    given(*lines).when(ask("s1")).refused(Invalid, "asks nobody")
    asked = told(*lines, c.Start(), ended("s1"), ask())
    assert (asked.phase, status(asked)["s3"]) == ("awaiting_input", "asked")
    answered = told(*lines, c.Start(), ended("s1"), ask(), c.Answer(text="Blue"))
    assert (answered.phase, status(answered)["s3"]) == ("executing", "finished")
    assert answered.turn
    assert answered.turn.actions[0].result == "Blue"


def test_a_time_that_comes_while_a_person_is_asked_lets_the_others_go_on() -> None:
    lines = (*begun(WAIT, ASK, AFTER_WAIT), wait("s2"), ask())
    asked = told(*lines)
    assert (asked.phase, status(asked)["s2"]) == ("awaiting_input", "waiting")
    on = woken(asked)
    assert (on.phase, on.question, status(on)["s3"]) == ("executing", None, "planned")
    again = told(c.Start(), ended("s4"), ask(), begin=on)
    assert (again.phase, status(again)["s3"]) == ("awaiting_input", "asked")
    alone = woken(told(*begun(WAIT, ASK), wait("s2"), ask()))
    assert (alone.phase, status(alone)) == ("awaiting_input", {"s2": "finished", "s3": "asked"})


def test_a_person_can_skip_what_waits() -> None:
    for lines in (begun(WAIT, AFTER_WAIT), begun(WAIT, LOOK, AFTER_WAIT)):
        begins = (*lines, wait("s2"))
        skipped = told(*begins, c.Skip(action_id="t2.s2"))
        assert (skipped.phase, status(skipped)["s2"]) == ("executing", "skipped")
        assert "t2.s4" in [a.spec.id for a in ready(skipped.turn)]
    unasked = told(*begun(ASK), ask(), c.Skip(action_id="t2.s3"))
    assert (unasked.phase, unasked.question) == ("verifying", None)


def test_a_pause_lets_the_time_come_and_starts_nothing() -> None:
    paused = told(*begun(WAIT, AFTER_WAIT), wait("s2"), c.Pause())
    assert (paused.phase, paused.paused) == ("waiting", True)
    on = woken(paused)
    assert (on.phase, on.paused, on.work) == ("executing", True, None)
    assert told(c.Resume(), begin=on).work


def test_a_stop_ends_the_wait_and_a_retry_begins_it_anew() -> None:
    stopped = told(*begun(WAIT), wait("s2"), c.Stop())
    assert (stopped.phase, status(stopped), wakes_at(stopped)) == ("resting", {"s2": "skipped"}, None)
    again = told(c.Retry(), begin=stopped)
    assert (again.phase, status(again)) == ("executing", {"s2": "planned"})
    cancelled = told(*begun(WAIT), wait("s2"), c.CancelPlan())
    assert (cancelled.phase, wakes_at(cancelled)) == ("resting", None)


def test_words_while_it_waits_are_answered_and_it_waits_on() -> None:
    remarked = told(*begun(WAIT, AFTER_WAIT), wait("s2"), say("How long?"))
    assert (remarked.phase, remarked.work and remarked.work.service) == ("planning", "planner")
    answered = told(c.AnswerRemark(text="An hour."), begin=remarked)
    assert (answered.phase, answered.words.reply) == ("waiting", "An hour.")
    meanwhile = woken(remarked)
    assert (meanwhile.phase, status(meanwhile)["s2"]) == ("planning", "finished")
    assert told(c.AnswerRemark(text="It is over."), begin=meanwhile).phase == "executing"
    assert told(c.Stop(), begin=meanwhile).phase == "executing"
    changed = told(c.DraftPlan(goal="Look", steps=(LOOK,), kind="execution"), begin=remarked)
    assert (changed.phase, wakes_at(changed)) == ("awaiting_approval", None)


def test_it_ends_as_any_plan_does() -> None:
    waited = woken(told(*begun(WAIT), wait("s2")))
    assert waited.phase == "verifying"
    done = told(verdict(), c.GiveAnswer(text="Waited.", confidence=1), begin=waited)
    assert done.plan
    assert done.plan.status == "completed"


def test_a_step_that_fails_halts_those_that_wait_and_a_person_decides() -> None:
    failed = (*begun(LOOK, WAIT, AFTER_WAIT), wait("s2"), c.Start(), finish(action_id="t2.s1", ok=False))
    halted = told(*failed)
    assert (halted.phase, wakes_at(halted)) == ("verifying", None)
    assert status(halted) == {"s1": "failed", "s2": "skipped", "s4": "skipped"}
    open_ = told(verdict("complete", "failure"), c.GiveAnswer(text="It failed.", confidence=0.1), begin=halted)
    assert (open_.phase, unfinished(open_)) == ("resting", True)
    for way_on in (c.Retry(), c.Skip(action_id="t2.s1")):
        on = told(way_on, begin=open_)
        assert (on.phase, status(on)["s2"], status(on)["s4"]) == ("executing", "planned", "planned")
        assert wakes_at(told(wait("s2"), begin=on)) == LATER
    again = finish(action_id="t2.s1", attempt=2)
    left_out = told(c.Skip(action_id="t2.s2"), c.Retry(), c.Start(), again, begin=open_)
    assert (left_out.phase, status(left_out)["s2"]) == ("executing", "skipped")


def test_a_time_that_comes_before_the_others_start_puts_what_needs_a_yes_before_the_person() -> None:
    pays = Step(text="Pay", tool="pay", id="s6", effect="write", after=("s2",))
    by_setting = request("execution_plan", require_plan_approval=False)
    steps = c.DraftPlan(goal="Wait", steps=(WAIT, pays, LOOK), kind="execution")
    waiting = told(by_setting, steps, c.BeginPlan(), wait("s2"))
    assert (waiting.phase, [a.spec.id for a in ready(waiting.turn)]) == ("executing", ["t2.s1"])
    on = woken(waiting)
    assert (on.phase, [a.spec.id for a in undecided(on.turn)]) == ("awaiting_approval", ["t2.s6"])
