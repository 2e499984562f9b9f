"""Steps of a plan that poll: what is recorded of their looks, how they end, and what holds them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from parley.events import facts
from parley.events.facts import MOST_LOOKS, SHORTEST_POLL
from parley.events.values import Step, Waiting
from shared.domain import commands as c
from shared.domain.admissible import admissible
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.evolve import evolve
from shared.domain.polling import MOST_CHANGES, polling
from shared.domain.session import Session
from shared.domain.waiting import due, wakes_at
from shared.domain.waves import ready
from tests.unit.domain.spec import NOON, StoryLine, approve, given, request, say
from tests.unit.domain.test_waiting import ended, status, told

EVERY = timedelta(seconds=60)
END = NOON + timedelta(hours=1)
LOOK = Step(text="Look", tool="look", id="s1", effect="read")
POLL = Step(text="Wait for it", tool="poll_until", id="s2", effect="read", waits_for="condition")
AFTER = Step(text="Note", tool="note", id="s3", effect="read", arguments={"x": "{{steps.s2.output.status}}"})


def begun(*steps: Step) -> tuple[StoryLine, ...]:
    return (request("execution_plan"), c.DraftPlan(goal="Wait", steps=steps, kind="execution"), approve)


def begins(every: int | None = 60, until: datetime = END, step: str = "s2") -> c.Wait:
    return c.Wait(actions=(Waiting(action_id=f"t2.{step}", until=until, every=every),))


def looked(session: Session, looks: int, value: Any = None, *, at: datetime = NOON, **told: Any) -> Session:
    """The session after the keeper's look. Raises Refused."""
    command = c.RecordLook(action_id="t2.s2", looks=looks, value=value, **told)
    return given(decide(session, command, CommandMeta("keeper", at)), begin=session).session


@pytest.fixture
def polls() -> Session:
    return told(*begun(POLL, AFTER), begins())


def test_it_looks_at_once_then_every_so_often(polls: Session) -> None:
    assert (polls.phase, wakes_at(polls), due(polls, END)) == ("waiting", NOON, ())
    first = looked(polls, 1, {"status": "new"})
    known = polling(first)["t2.s2"]
    assert (first.phase, known.looks, known.changes, known.value) == ("waiting", 1, 1, {"status": "new"})
    assert wakes_at(first) == NOON + EVERY
    late = looked(first, 40, {"status": "sent"}, at=END - timedelta(seconds=5))
    assert wakes_at(late) == END, "the last look is when it gives up"


def test_only_news_is_recorded(polls: Session) -> None:
    first = looked(polls, 1, {"status": "new"})
    for again in ({"status": "new"}, {"status": "new"}):
        with pytest.raises(OutOfTurn, match="nothing new"):
            looked(first, 2, again)
    changed = looked(first, 9, {"status": "sent"})
    assert (polling(changed)["t2.s2"].looks, polling(changed)["t2.s2"].changes) == (9, 2)
    with pytest.raises(OutOfTurn, match="later look"):
        looked(changed, 9, {"status": "new"})


def test_a_look_that_fails_is_recorded_once_and_the_step_looks_on(polls: Session) -> None:
    failed = looked(polls, 1, error="it is away")
    assert (failed.phase, polling(failed)["t2.s2"].error) == ("waiting", "it is away")
    with pytest.raises(OutOfTurn, match="nothing new"):
        looked(failed, 2, error="it is away")
    assert polling(looked(failed, 2, {"status": "new"}))["t2.s2"].error == ""


def test_so_many_values_are_recorded_and_then_only_the_end(polls: Session) -> None:
    for number in range(1, MOST_CHANGES + 1):
        polls = looked(polls, number, number)
    with pytest.raises(OutOfTurn, match="nothing new"):
        looked(polls, MOST_CHANGES + 1, "another")
    assert looked(polls, MOST_CHANGES + 1, {"status": 1}, met=True).phase == "executing"


def test_where_the_condition_holds_the_value_is_the_output(polls: Session) -> None:
    done = looked(looked(polls, 1, {"status": "new"}), 3, {"status": "delivered"}, met=True)
    assert (done.phase, status(done), wakes_at(done)) == ("executing", {"s2": "finished", "s3": "planned"}, None)
    assert done.turn
    assert done.turn.actions[0].result == {"status": "delivered"}
    assert [action.spec.id for action in ready(done.turn)] == ["t2.s3"]


def test_a_step_that_gives_up_fails_with_the_reason_and_can_be_tried_again(polls: Session) -> None:
    over = looked(looked(polls, 1, {"status": "new"}), 61, {"status": "new"}, at=END)
    assert (over.phase, status(over)) == ("verifying", {"s2": "failed", "s3": "skipped"})
    assert over.turn
    assert over.turn.actions[0].error == "gave up after 61 checks: the condition was not met"
    assert over.turn.actions[0].result is None
    away = looked(polls, 1, error="it is away", at=END)
    assert away.turn
    assert away.turn.actions[0].error == "gave up after one check: the last one failed: it is away"
    rested = told(*judged(), begin=over)
    again = told(c.Retry(), begin=rested)
    assert again.turn
    assert (again.phase, again.turn.actions[0].attempt, again.turn.actions[0].poll) == ("executing", 2, None)
    polls_again = told(begins(), begin=again)
    with pytest.raises(OutOfTurn, match="does not poll"):
        looked(polls_again, 62, {"status": "new"})
    assert looked(polls_again, 1, {"status": "new"}, attempt=2).phase == "waiting"


def judged() -> tuple[StoryLine, ...]:
    return (
        c.VerifyTurn(status="failure", next_action="complete", reasoning="A step failed."),
        c.GiveAnswer(text="Not done.", confidence=0),
    )


def test_it_gives_up_after_so_many_looks(polls: Session) -> None:
    assert looked(polls, MOST_LOOKS - 1, 1).phase == "waiting"
    assert looked(polls, MOST_LOOKS, 1).phase == "verifying"


def test_the_others_go_on_meanwhile() -> None:
    waiting = told(*begun(LOOK, POLL, AFTER), begins())
    assert (waiting.phase, [a.spec.id for a in ready(waiting.turn)]) == ("executing", ["t2.s1"])
    met = looked(told(c.Start(), begin=waiting), 1, {"status": "x"}, met=True)
    assert (met.phase, status(met)) == ("executing", {"s1": "started", "s2": "finished", "s3": "planned"})
    assert [a.spec.id for a in ready(told(ended("s1"), begin=met).turn)] == ["t2.s3"]


@pytest.mark.parametrize("command", [c.Stop(), c.CancelPlan(), c.Skip(action_id="t2.s3")])
def test_a_person_can_end_it_or_what_needs_it(polls: Session, command: StoryLine) -> None:
    after = told(command, begin=polls)
    ends = not isinstance(command, c.Skip)
    assert (wakes_at(after) is None) == ends
    if ends:
        with pytest.raises(OutOfTurn, match="does not poll"):
            looked(after, 1, 1)
    else:
        alone = told(c.Skip(action_id="t2.s2"), begin=after)
        assert (alone.phase, status(alone)["s2"], wakes_at(alone)) == ("verifying", "skipped", None)


def test_a_stop_ends_the_looks_and_a_retry_begins_them_anew(polls: Session) -> None:
    stopped = told(c.Stop(), begin=looked(polls, 5, 1))
    again = told(c.Retry(), begins(), begin=stopped)
    assert (polling(again)["t2.s2"].looks, polling(again)["t2.s2"].began) == (0, again.version)


def test_words_while_it_polls_are_answered_and_it_polls_on(polls: Session) -> None:
    remarked = told(say("How long?"), begin=polls)
    meanwhile = looked(remarked, 1, {"status": "new"})
    assert (meanwhile.phase, polling(meanwhile)["t2.s2"].looks) == ("planning", 1)
    assert told(c.AnswerRemark(text="An hour."), begin=meanwhile).phase == "waiting"


def test_what_is_no_poll_cannot_begin_as_one() -> None:
    lines = begun(LOOK, POLL, AFTER)
    given(*lines).when(begins(step="s1")).refused(Invalid, "no step that waits for a condition")
    given(*lines).when(begins(every=None)).refused(Invalid, "no step that waits for a time")
    given(*lines).when(begins(every=SHORTEST_POLL - 1)).refused(Invalid, "more often than every 10 seconds")
    given(*lines).when(begins(until=NOON + timedelta(hours=25))).refused(Invalid, "longer than 24 hours")
    before = told(*lines)
    event = decide(before, begins(), CommandMeta("executor", NOON, work=before.work))
    assert isinstance(event, facts.ActionsWaiting)
    wrong = event.model_copy(update={"actions": begins(every=None).actions})
    assert "could wait for a time" in admissible(before, wrong)


def test_nobody_but_the_keeper_polls_and_no_look_is_made_up(polls: Session) -> None:
    first = looked(polls, 3, {"status": "new"})
    event = decide(first, c.RecordLook(action_id="t2.s2", looks=4, value=1, met=True), CommandMeta("keeper", NOON))
    assert isinstance(event, facts.ActionPolled)
    assert (admissible(first, event), event.needs) == ("", 2)

    def refused(**other: Any) -> str:
        return admissible(first, event.model_copy(update=other))

    assert "only the keeper" in refused(actor="executor")
    assert "only the keeper" in refused(actor="user:ann")
    assert "does not poll" in refused(action_id="t2.s3")
    assert "does not poll" in refused(attempt=2)
    assert "has looked 3 times" in refused(looks=3)
    assert "time left" in refused(end="given_up")
    assert refused(end="given_up", at=END) == ""
    full = first
    for number in range(4, 4 + MOST_CHANGES - 1):
        full = looked(full, number, number)
    more = event.model_copy(update={"version": full.version + 1, "looks": 90, "end": None})
    assert "were recorded already" in admissible(full, more)


def test_a_look_at_what_does_not_poll_folds_to_nothing(polls: Session) -> None:
    """No reader of the log takes such an event; folding it refuses nothing and changes no step."""
    event = decide(polls, c.RecordLook(action_id="t2.s2", looks=1, met=True), CommandMeta("keeper", NOON))
    assert isinstance(event, facts.ActionPolled)
    assert status(evolve(polls, event.model_copy(update={"action_id": "t2.s3"}))) == status(polls)
    stopped = told(c.Stop(), begin=polls)
    assert status(evolve(stopped, event.model_copy(update={"version": stopped.version + 1}))) == status(stopped)
