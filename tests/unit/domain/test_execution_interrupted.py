"""A plan that acts is paused, stopped or cancelled in each of its phases: nothing begins, and nothing is lost."""

import pytest

from shared.domain import commands as c
from shared.domain.decide import due
from shared.domain.errors import OutOfTurn, Refused
from shared.domain.plan_steps import task_status
from shared.domain.session import Session
from shared.domain.waves import running
from shared.story import finish
from tests.unit.domain import test_waiting as waits
from tests.unit.domain.spec import StoryLine, approve, reject, verdict
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, PAY, ended, plan, resolve, status
from tests.unit.domain.test_waiting import told

WAIT, ASK = (step.model_copy(update={"id": name}) for step, name in ((waits.WAIT, "s5"), (waits.ASK, "s6")))
AFTER = LOOK.model_copy(update={"after": ("s6",)})
BEGUN = (*DRAFTED, plan(LOOK, CANCEL), approve)
RAN = (*DRAFTED, plan(LOOK), approve, c.Start(), ended("s1"))
TOLD = c.GiveAnswer(text="Done.", confidence=1)
PHASES: dict[str, tuple[StoryLine, ...]] = {
    "drafted": DRAFTED,
    "in review": (*DRAFTED, plan(LOOK, CANCEL)),
    "about to begin": BEGUN,
    "running": (*BEGUN, c.Start()),
    "between steps": (*BEGUN, c.Start(), ended("s1")),
    "a change asks": (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), ended("s1"), resolve),
    "waiting": (*DRAFTED, plan(WAIT), approve, waits.wait("s5")),
    "asking": (*DRAFTED, plan(ASK, AFTER), approve, waits.ask("s6")),
    "judged": RAN,
    "reported": (*RAN, verdict()),
}
UNDER_WAY = [name for name in PHASES if name not in ("drafted", "reported")]  # there is a plan that can be cancelled
OVER: dict[str, tuple[StoryLine, ...]] = {"done": (*RAN, verdict(), TOLD)}


STATUS = {"drafted": "draft", "in review": "pending_approval", "reported": "completed"}  # of the others: executing


@pytest.mark.parametrize("phase", PHASES)
def test_the_status_is_that_of_the_task(phase: str) -> None:
    assert task_status(told(*PHASES[phase])) == STATUS.get(phase, "executing")


def test_a_task_that_failed_says_so_until_it_goes_on() -> None:
    failed = told(
        *BEGUN, c.Start(), finish(action_id="t2.s1", ok=False, error="no"), verdict("complete", "failure"), TOLD
    )
    assert task_status(failed) == "failed"
    assert task_status(told(c.Retry(), begin=failed)) == "executing"
    refused = told(*PHASES["in review"], reject)
    assert task_status(refused) == "draft"


def nobody(session: Session) -> bool:
    return session.work is None and due(session) in ("nobody", "user")


def outcome_recorded(session: Session) -> Session:
    """What was running when the person interfered ends, and is known."""
    assert [action.spec.id for action in running(session)] == ["t2.s1"]
    after = told(ended("s1"), begin=session)
    assert running(after) == ()
    assert status(after)["t2.s1"] == "finished"
    return after


@pytest.mark.parametrize("phase", PHASES)
def test_a_pause_lets_the_wave_at_hand_end_and_begins_no_other(phase: str) -> None:
    """The executor that is due already may start the wave that it was given."""
    before = told(*PHASES[phase])
    paused = told(c.Pause(), begin=before)
    assert paused.paused
    if phase == "running":
        paused = outcome_recorded(paused)
    elif phase == "about to begin":
        paused = outcome_recorded(told(c.Start(), begin=paused))
    if phase != "between steps":
        with pytest.raises(OutOfTurn):
            told(c.Start(), begin=paused)
    if phase in ("running", "about to begin"):
        assert nobody(paused)
    on = told(c.Resume(), begin=paused)
    assert not on.paused
    assert (task_status(on), on.phase) == (task_status(before), before.phase)
    if phase in ("about to begin", "running", "between steps"):
        assert status(told(c.Start(), begin=on))["t2.s2"] == "started"


@pytest.mark.parametrize("phase", PHASES)
def test_a_stop_rests_at_once_and_a_retry_goes_on(phase: str) -> None:
    before = told(*PHASES[phase])
    stopped = told(c.Stop(), begin=before)
    assert (stopped.phase, stopped.rest_reason, nobody(stopped)) == ("resting", "stopped", True)
    if phase == "running":
        stopped = outcome_recorded(stopped)
        assert (stopped.phase, nobody(stopped)) == ("resting", True)
    with pytest.raises(OutOfTurn):
        told(c.Start(), begin=stopped)
    on = told(c.Retry(), begin=stopped)
    assert task_status(on) == task_status(before)
    begun = {name: how for name, how in status(before).items() if how == "finished"}
    assert begun.items() <= status(on).items(), "what was done is not done again"
    assert on.phase != "resting"


@pytest.mark.parametrize("phase", UNDER_WAY)
def test_a_cancelled_plan_begins_nothing_more_and_what_runs_is_recorded(phase: str) -> None:
    cancelled = told(c.CancelPlan(), begin=told(*PHASES[phase]))
    assert (cancelled.phase, task_status(cancelled), nobody(cancelled)) == ("resting", "cancelled", True)
    assert set(status(cancelled).values()) <= {"started", "finished", "skipped"}
    if phase == "running":
        cancelled = outcome_recorded(cancelled)
        assert task_status(cancelled) == "cancelled"
    for again in (c.Start(), c.CancelPlan()):
        with pytest.raises(Refused):
            told(again, begin=cancelled)


@pytest.mark.parametrize("command", [c.Pause(), c.Stop(), c.CancelPlan(), c.Resume()])
def test_a_plan_that_is_done_stays_done(command: c.Command) -> None:
    done = told(*OVER["done"])
    with pytest.raises(Refused):
        told(command, begin=done)  # type: ignore[arg-type]
    assert task_status(done) == "completed"
