"""The user pauses, stops or cancels a plan in each phase: nothing more starts, and no outcome is lost."""

import pytest

from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import due
from shared.domain.steps.plan_steps import task_status
from shared.domain.turn.batches import running_actions
from shared.story import finish_action
from tests.unit.domain import test_waiting_steps as waits
from tests.unit.domain.spec import StoryLine, approve, reject, verdict
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, PAY, finish_step, plan, resolve, status
from tests.unit.domain.test_waiting_steps import session_after

WAIT, ASK = (step.model_copy(update={"id": name}) for step, name in ((waits.WAIT, "s5"), (waits.ASK, "s6")))
AFTER = LOOK.model_copy(update={"after": ("s6",)})
APPROVED = (*DRAFTED, plan(LOOK, CANCEL), approve)
RAN = (*DRAFTED, plan(LOOK), approve, c.Start(), finish_step("s1"))
GIVE_ANSWER = c.GiveAnswer(text="Done.", confidence=1)
PHASES: dict[str, tuple[StoryLine, ...]] = {
    "drafted": DRAFTED,
    "in review": (*DRAFTED, plan(LOOK, CANCEL)),
    "about to begin": APPROVED,
    "running": (*APPROVED, c.Start()),
    "between steps": (*APPROVED, c.Start(), finish_step("s1")),
    "a write needs approval": (*DRAFTED, plan(LOOK, PAY), approve, c.Start(), finish_step("s1"), resolve),
    "waiting": (*DRAFTED, plan(WAIT), approve, waits.wait("s5")),
    "asking": (*DRAFTED, plan(ASK, AFTER), approve, waits.ask("s6")),
    "not verified yet": RAN,
    "verified": (*RAN, verdict()),
}


STATUS = {"drafted": "draft", "in review": "pending_approval", "verified": "completed"}  # all others: executing


@pytest.mark.parametrize("phase", PHASES)
def test_the_status_covers_all_versions_of_the_task(phase: str) -> None:
    assert task_status(session_after(*PHASES[phase])) == STATUS.get(phase, "executing")


def test_a_failed_task_stays_failed_until_it_is_retried() -> None:
    failed = session_after(
        *APPROVED,
        c.Start(),
        finish_action(action_id="t2.s1", ok=False, error="no"),
        verdict("complete", "failure"),
        GIVE_ANSWER,
    )
    assert task_status(failed) == "failed"
    assert task_status(session_after(c.Retry(), begin=failed)) == "executing"
    refused = session_after(*PHASES["in review"], reject)
    assert task_status(refused) == "draft"


def is_idle(session: Session) -> bool:
    return session.work is None and due(session) in ("nobody", "user")


def record_outcome(session: Session) -> Session:
    """The session after the running action has ended and its outcome is recorded."""
    assert [action.spec.id for action in running_actions(session)] == ["t2.s1"]
    after = session_after(finish_step("s1"), begin=session)
    assert running_actions(after) == ()
    assert status(after)["t2.s1"] == "finished"
    return after


@pytest.mark.parametrize("phase", PHASES)
def test_a_pause_lets_the_current_batch_end_and_starts_no_other(phase: str) -> None:
    """An executor that is due before the pause may still start its batch."""
    before = session_after(*PHASES[phase])
    paused = session_after(c.Pause(), begin=before)
    assert paused.paused
    if phase == "running":
        paused = record_outcome(paused)
    elif phase == "about to begin":
        paused = record_outcome(session_after(c.Start(), begin=paused))
    if phase != "between steps":
        with pytest.raises(OutOfTurn):
            session_after(c.Start(), begin=paused)
    if phase in ("running", "about to begin"):
        assert is_idle(paused)
    resumed = session_after(c.Resume(), begin=paused)
    assert not resumed.paused
    assert (task_status(resumed), resumed.phase) == (task_status(before), before.phase)
    if phase in ("about to begin", "running", "between steps"):
        assert status(session_after(c.Start(), begin=resumed))["t2.s2"] == "started"


@pytest.mark.parametrize("phase", PHASES)
def test_a_stopped_session_rests_at_once_and_a_retry_continues(phase: str) -> None:
    before = session_after(*PHASES[phase])
    stopped = session_after(c.Stop(), begin=before)
    assert (stopped.phase, stopped.rest_reason, is_idle(stopped)) == ("resting", "stopped", True)
    if phase == "running":
        stopped = record_outcome(stopped)
        assert (stopped.phase, is_idle(stopped)) == ("resting", True)
    with pytest.raises(OutOfTurn):
        session_after(c.Start(), begin=stopped)
    retried = session_after(c.Retry(), begin=stopped)
    assert task_status(retried) == task_status(before)
    finished = {name: state for name, state in status(before).items() if state == "finished"}
    assert finished.items() <= status(retried).items(), "finished steps do not run again"
    assert retried.phase != "resting"
