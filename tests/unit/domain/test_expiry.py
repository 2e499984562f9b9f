"""What nobody decides or answers in time."""

import pytest

from parley.events import facts
from parley.events.values import SessionSettings, Step
from shared.domain import commands as c
from shared.domain.admissible import admissible
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide
from shared.domain.errors import OutOfTurn
from shared.domain.expiry import expires
from shared.domain.session import Session
from tests.unit.domain.spec import NOON, StoryLine, act, approve, given, say, turn
from tests.unit.domain.test_polling import judged
from tests.unit.domain.test_waiting import AFTER_WAIT, ASK, LOOK, WAIT, WRITE, ask, begun, ended, status, told, wait

LATER_WRITE = Step(text="Pay", tool="pay", id="s6", effect="write", arguments={"x": "{{steps.s1.output}}"})


def asked(*lines: StoryLine) -> Session:
    return told(*lines, ask())


def expired(session: Session) -> Session:
    return told(c.Expire(requested_version=session.since_version), begin=session)


def test_a_step_that_nobody_answers_fails_and_what_needs_it_is_not_begun() -> None:
    waiting = asked(*begun(ASK, WRITE))
    assert expires(waiting)
    after = expired(waiting)
    assert (after.phase, after.question, status(after)) == ("verifying", None, {"s3": "failed", "s5": "skipped"})
    assert after.turn
    assert after.turn.actions[0].error == "nobody answered in time"


def test_it_is_asked_again_as_another_attempt() -> None:
    rested = told(*judged(), begin=expired(asked(*begun(ASK))))
    again = told(c.Retry(), ask(), begin=rested)
    assert again.turn
    assert (again.phase, again.turn.actions[0].attempt) == ("awaiting_input", 2)
    answered = told(c.Answer(text="Blue"), begin=again)
    assert answered.turn
    assert (answered.turn.actions[0].result, answered.turn.actions[0].error) == ("Blue", "")


def test_what_waits_for_an_approval_of_its_own_is_not_denied_with_it() -> None:
    """Only the step whose question it was: others have not been put before anybody yet."""
    event = decide(
        waiting := asked(*begun(ASK, LOOK.model_copy(update={"after": ("s3",)}))),
        c.Expire(requested_version=waiting.since_version),
        CommandMeta("keeper", NOON),
    )
    assert isinstance(event, facts.ApprovalExpired)
    assert (event.unanswered, event.denied, event.needs) == ("t2.s3", (), 2)
    assert [one.id for one in event.ended] == ["t2.s1"]


def test_a_time_that_comes_meanwhile_begins_the_clock_anew() -> None:
    waiting = asked(*begun(WAIT, ASK, AFTER_WAIT), wait("s2"))
    on = told(decide(waiting, c.Wake(), CommandMeta("keeper", NOON.replace(hour=23))), begin=waiting)
    assert not expires(on)
    with pytest.raises(OutOfTurn):
        expired(waiting if on.since_version == waiting.since_version else on)
    again = told(c.Start(), ended("s4"), ask(), begin=on)
    assert again.since_version > waiting.since_version
    assert expires(again)


def test_nothing_else_that_a_person_is_asked_expires_so() -> None:
    for lines in (
        (say(), c.Ask(text="Which?")),
        (say(), c.Ask(text="spent", about="budget")),
        (say(workflow="agentflow"), turn(act("1.1")), c.Ask(text="?", about="action", action_id="1.1")),
    ):
        session = told(*lines)
        assert not expires(session)
        with pytest.raises(OutOfTurn, match="decided or answered"):
            expired(session)


def test_a_late_expiry_is_refused_and_one_that_names_another_step_parked() -> None:
    waiting = asked(*begun(ASK))
    event = decide(waiting, c.Expire(requested_version=waiting.since_version), CommandMeta("keeper", NOON))
    assert isinstance(event, facts.ApprovalExpired)
    assert admissible(waiting, event) == ""
    assert "asks nobody now" in admissible(waiting, event.model_copy(update={"unanswered": "t2.s9"}))
    answered = told(c.Answer(text="Blue"), begin=waiting)
    assert "asks nobody now" in admissible(answered, event)
    given(*begun(ASK), ask(), c.Answer(text="Blue")).when(c.Expire(requested_version=5)).refused(OutOfTurn)


def test_a_plan_in_review_expires_as_before() -> None:
    settings = SessionSettings(approval_timeout=60)
    shown = told(c.Say(text="x", workflow="execution_plan", settings=settings), begun(ASK)[1])
    assert expires(shown)
    assert expired(shown).phase == "resting"
    assert told(approve, begin=shown).phase == "executing"
