"""Plan steps that poll: which polls are recorded, and how polling ends."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from parley.events import facts
from parley.events.facts import MAX_POLLS, MIN_POLL_INTERVAL
from parley.events.values import Step, Waiting
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import admissible
from shared.domain.rules.decide import decide
from shared.domain.steps.polling import MAX_RECORDED_VALUES, polls_by_action
from shared.domain.steps.waiting_steps import due_steps, next_wake
from shared.domain.turn.batches import next_batch
from tests.unit.domain.spec import NOON, StoryLine, approve, given, request, say
from tests.unit.domain.test_waiting_steps import finish_step, session_after, status

EVERY = timedelta(seconds=60)
END = NOON + timedelta(hours=1)
LOOK = Step(text="Look", tool="look", id="s1", effect="read")
POLL = Step(text="Wait for it", tool="poll_until", id="s2", effect="read", waits_for="condition")
AFTER = Step(text="Note", tool="note", id="s3", effect="read", arguments={"x": "{{steps.s2.output.status}}"})


def approved_plan(*steps: Step) -> tuple[StoryLine, ...]:
    return (request("execution_plan"), c.DraftPlan(goal="Wait", steps=steps, kind="execution"), approve)


def begin_polling(every: int | None = 60, until: datetime = END, step: str = "s2") -> c.Wait:
    return c.Wait(actions=(Waiting(action_id=f"t2.{step}", until=until, every=every),))


def after_poll(session: Session, polls: int, value: Any = None, *, at: datetime = NOON, **result: Any) -> Session:
    """The session after the keeper's poll. Raises CommandRefused."""
    command = c.RecordPoll(action_id="t2.s2", polls=polls, value=value, **result)
    return given(decide(session, command, CommandMeta("keeper", at)), begin=session).session


@pytest.fixture
def polls() -> Session:
    return session_after(*approved_plan(POLL, AFTER), begin_polling())


def test_a_step_polls_at_once_and_then_at_intervals(polls: Session) -> None:
    assert (polls.phase, next_wake(polls), due_steps(polls, END)) == ("waiting", NOON, ())
    first = after_poll(polls, 1, {"status": "new"})
    known = polls_by_action(first)["t2.s2"]
    assert (first.phase, known.polls, known.changes, known.value) == ("waiting", 1, 1, {"status": "new"})
    assert next_wake(first) == NOON + EVERY
    late = after_poll(first, 40, {"status": "sent"}, at=END - timedelta(seconds=5))
    assert next_wake(late) == END, "the last poll is at the step's deadline"


def test_only_new_values_are_recorded(polls: Session) -> None:
    first = after_poll(polls, 1, {"status": "new"})
    for again in ({"status": "new"}, {"status": "new"}):
        with pytest.raises(OutOfTurn, match="nothing new"):
            after_poll(first, 2, again)
    changed = after_poll(first, 9, {"status": "sent"})
    assert (polls_by_action(changed)["t2.s2"].polls, polls_by_action(changed)["t2.s2"].changes) == (9, 2)
    with pytest.raises(OutOfTurn, match="A later poll"):
        after_poll(changed, 9, {"status": "new"})


def test_a_failed_poll_is_recorded_once_and_polling_goes_on(polls: Session) -> None:
    failed = after_poll(polls, 1, error="it is away")
    assert (failed.phase, polls_by_action(failed)["t2.s2"].error) == ("waiting", "it is away")
    with pytest.raises(OutOfTurn, match="nothing new"):
        after_poll(failed, 2, error="it is away")
    assert polls_by_action(after_poll(failed, 2, {"status": "new"}))["t2.s2"].error == ""


def test_the_number_of_recorded_values_is_limited(polls: Session) -> None:
    for number in range(1, MAX_RECORDED_VALUES + 1):
        polls = after_poll(polls, number, number)
    with pytest.raises(OutOfTurn, match="were recorded already"):
        after_poll(polls, MAX_RECORDED_VALUES + 1, "another")
    assert after_poll(polls, MAX_RECORDED_VALUES + 1, {"status": 1}, met=True).phase == "executing"


def test_the_value_that_meets_the_condition_is_the_output(polls: Session) -> None:
    done = after_poll(after_poll(polls, 1, {"status": "new"}), 3, {"status": "delivered"}, met=True)
    assert (done.phase, status(done), next_wake(done)) == ("executing", {"s2": "finished", "s3": "planned"}, None)
    assert done.turn
    assert done.turn.actions[0].result == {"status": "delivered"}
    assert [action.spec.id for action in next_batch(done.turn)] == ["t2.s3"]


def test_a_step_that_gives_up_fails_with_a_reason_and_can_be_retried(polls: Session) -> None:
    given_up = after_poll(after_poll(polls, 1, {"status": "new"}), 61, {"status": "new"}, at=END)
    assert (given_up.phase, status(given_up)) == ("verifying", {"s2": "failed", "s3": "skipped"})
    assert given_up.turn
    assert given_up.turn.actions[0].error == "gave up after 61 checks: the condition was not met"
    assert given_up.turn.actions[0].result is None
    away = after_poll(polls, 1, error="it is away", at=END)
    assert away.turn
    assert away.turn.actions[0].error == "gave up after one check: the last one failed: it is away"
    rested = session_after(*judged(), begin=given_up)
    again = session_after(c.Retry(), begin=rested)
    assert again.turn
    assert (again.phase, again.turn.actions[0].attempt, again.turn.actions[0].poll) == ("executing", 2, None)
    polls_again = session_after(begin_polling(), begin=again)
    with pytest.raises(OutOfTurn, match="does not wait"):
        after_poll(polls_again, 62, {"status": "new"})
    assert after_poll(polls_again, 1, {"status": "new"}, attempt=2).phase == "waiting"


def judged() -> tuple[StoryLine, ...]:
    """The verdict and the answer after a step has failed."""
    return (
        c.VerifyTurn(status="failure", next_action="complete", reasoning="A step failed."),
        c.GiveAnswer(text="Not done.", confidence=0),
    )


def test_a_step_gives_up_after_the_maximum_of_polls(polls: Session) -> None:
    assert after_poll(polls, MAX_POLLS - 1, 1).phase == "waiting"
    assert after_poll(polls, MAX_POLLS, 1).phase == "verifying"


def test_other_steps_go_on_while_one_polls() -> None:
    waiting = session_after(*approved_plan(LOOK, POLL, AFTER), begin_polling())
    assert (waiting.phase, [a.spec.id for a in next_batch(waiting.turn)]) == ("executing", ["t2.s1"])
    met = after_poll(session_after(c.Start(), begin=waiting), 1, {"status": "x"}, met=True)
    assert (met.phase, status(met)) == ("executing", {"s1": "started", "s2": "finished", "s3": "planned"})
    assert [a.spec.id for a in next_batch(session_after(finish_step("s1"), begin=met).turn)] == ["t2.s3"]


@pytest.mark.parametrize("command", [c.Stop(), c.CancelPlan(), c.Skip(action_id="t2.s3")])
def test_a_user_can_skip_a_polling_step_or_its_dependents(polls: Session, command: StoryLine) -> None:
    after = session_after(command, begin=polls)
    ends = not isinstance(command, c.Skip)
    assert (next_wake(after) is None) == ends
    if ends:
        with pytest.raises(OutOfTurn, match="does not wait"):
            after_poll(after, 1, 1)
    else:
        alone = session_after(c.Skip(action_id="t2.s2"), begin=after)
        assert (alone.phase, status(alone)["s2"], next_wake(alone)) == ("verifying", "skipped", None)


def test_a_stop_ends_polling_and_a_retry_starts_it_again(polls: Session) -> None:
    stopped = session_after(c.Stop(), begin=after_poll(polls, 5, 1))
    again = session_after(c.Retry(), begin_polling(), begin=stopped)
    assert (polls_by_action(again)["t2.s2"].polls, polls_by_action(again)["t2.s2"].began) == (0, again.version)


def test_messages_during_polling_are_answered_and_polling_goes_on(polls: Session) -> None:
    asked = session_after(say("How long?"), begin=polls)
    meanwhile = after_poll(asked, 1, {"status": "new"})
    assert (meanwhile.phase, meanwhile.reply, polls_by_action(meanwhile)["t2.s2"].polls) == ("waiting", asked.reply, 1)
    assert session_after(c.AnswerRemark(text="An hour."), begin=meanwhile).phase == "waiting"


def test_only_a_polling_step_can_begin_to_poll() -> None:
    lines = approved_plan(LOOK, POLL, AFTER)
    given(*lines).when(begin_polling(step="s1")).refused(Invalid, "not a step that waits for a condition")
    given(*lines).when(begin_polling(every=None)).refused(Invalid, "not a step that waits for a time")
    given(*lines).when(begin_polling(every=MIN_POLL_INTERVAL - 1)).refused(Invalid, "more often than every 10 seconds")
    given(*lines).when(begin_polling(until=NOON + timedelta(hours=25))).refused(Invalid, "longer than 24 hours")
    before = session_after(*lines)
    event = decide(before, begin_polling(), CommandMeta("executor", NOON, work=before.work))
    assert isinstance(event, facts.ActionsWaiting)
    wrong = event.model_copy(update={"actions": begin_polling(every=None).actions})
    assert "waits for a time" in admissible(before, wrong)


def test_only_the_keeper_polls_and_invalid_polls_are_refused(polls: Session) -> None:
    first = after_poll(polls, 3, {"status": "new"})
    event = decide(first, c.RecordPoll(action_id="t2.s2", polls=4, value=1, met=True), CommandMeta("keeper", NOON))
    assert isinstance(event, facts.ActionWaited)
    assert admissible(first, event) == ""

    def refused(**changes: Any) -> str:
        return admissible(first, event.model_copy(update=changes))

    assert "only the keeper" in refused(actor="executor")
    assert "only the keeper" in refused(actor="user:ann")
    assert "does not wait" in refused(action_id="t2.s3")
    assert "does not wait" in refused(attempt=2)
    assert "A later poll" in refused(polls=3)
    assert "time left" in refused(end="given_up")
    assert refused(end="given_up", at=END) == ""
    full = first
    for number in range(4, 4 + MAX_RECORDED_VALUES - 1):
        full = after_poll(full, number, number)
    excess = event.model_copy(update={"version": full.version + 1, "polls": 90, "end": None})
    assert "were recorded already" in admissible(full, excess)


def test_a_poll_of_another_step_changes_nothing(polls: Session) -> None:
    """Readers refuse such an event; folding it changes no step."""
    event = decide(polls, c.RecordPoll(action_id="t2.s2", polls=1, met=True), CommandMeta("keeper", NOON))
    assert isinstance(event, facts.ActionWaited)
    assert status(evolve(polls, event.model_copy(update={"action_id": "t2.s3"}))) == status(polls)
    stopped = session_after(c.Stop(), begin=polls)
    assert status(evolve(stopped, event.model_copy(update={"version": stopped.version + 1}))) == status(stopped)
