"""Approvals and questions that expire."""

import pytest

from parley.events import facts
from parley.events.values import SessionSettings, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import admissible
from shared.domain.rules.decide import decide
from shared.domain.rules.expiry import expires
from tests.unit.domain.spec import NOON, StoryLine, act, approve, given, say, turn
from tests.unit.domain.test_polling import judged
from tests.unit.domain.test_waiting_steps import (
    AFTER_WAIT,
    ASK,
    LOOK,
    WAIT,
    WRITE,
    approved_plan,
    ask,
    finish_step,
    session_after,
    status,
    wait,
)

LATER_WRITE = Step(text="Pay", tool="pay", id="s6", effect="write", arguments={"x": "{{steps.s1.output}}"})


def session_with_question(*lines: StoryLine) -> Session:
    return session_after(*lines, ask())


def expire_question(session: Session) -> Session:
    return session_after(c.Expire(requested_version=session.since_version), begin=session)


def test_a_step_whose_question_expires_fails_and_ends_its_dependents() -> None:
    waiting = session_with_question(*approved_plan(ASK, WRITE))
    assert expires(waiting)
    after = expire_question(waiting)
    assert (after.phase, after.question, status(after)) == ("verifying", None, {"s3": "failed", "s5": "skipped"})
    assert after.turn
    assert after.turn.actions[0].error == "nobody answered in time"


def test_an_expired_question_is_asked_again_as_another_attempt() -> None:
    rested = session_after(*judged(), begin=expire_question(session_with_question(*approved_plan(ASK))))
    again = session_after(c.Retry(), ask(), begin=rested)
    assert again.turn
    assert (again.phase, again.turn.actions[0].attempt) == ("awaiting_input", 2)
    answered = session_after(c.Answer(text="Blue"), begin=again)
    assert answered.turn
    assert (answered.turn.actions[0].result, answered.turn.actions[0].error) == ("Blue", "")


def test_an_expired_question_denies_no_approvals() -> None:
    """Only the step with the question fails: the other steps have not asked for approval yet."""
    event = decide(
        waiting := session_with_question(*approved_plan(ASK, LOOK.model_copy(update={"after": ("s3",)}))),
        c.Expire(requested_version=waiting.since_version),
        CommandMeta("keeper", NOON),
    )
    assert isinstance(event, facts.ApprovalExpired)
    assert (event.unanswered, event.denied) == ("t2.s3", ())
    assert [entry.id for entry in event.ended] == ["t2.s1"]


def test_a_wait_that_ends_during_the_question_restarts_the_time_limit() -> None:
    waiting = session_with_question(*approved_plan(WAIT, ASK, AFTER_WAIT), wait("s2"))
    awake = session_after(decide(waiting, c.Wake(), CommandMeta("keeper", NOON.replace(hour=23))), begin=waiting)
    assert not expires(awake)
    with pytest.raises(OutOfTurn):
        expire_question(waiting if awake.since_version == waiting.since_version else awake)
    again = session_after(c.Start(), finish_step("s4"), ask(), begin=awake)
    assert again.since_version > waiting.since_version
    assert expires(again)


def test_other_questions_do_not_expire() -> None:
    for lines in (
        (say(), c.Ask(text="Which?")),
        (say(), c.Ask(text="spent", about="budget")),
        (say(workflow="agentflow"), turn(act("1.1")), c.Ask(text="?", about="action", action_id="1.1")),
    ):
        session = session_after(*lines)
        assert not expires(session)
        with pytest.raises(OutOfTurn, match="decided or answered"):
            expire_question(session)


def test_a_late_expiry_is_refused_and_one_for_another_step_is_inadmissible() -> None:
    waiting = session_with_question(*approved_plan(ASK))
    event = decide(waiting, c.Expire(requested_version=waiting.since_version), CommandMeta("keeper", NOON))
    assert isinstance(event, facts.ApprovalExpired)
    assert admissible(waiting, event) == ""
    assert "does not ask the user now" in admissible(waiting, event.model_copy(update={"unanswered": "t2.s9"}))
    answered = session_after(c.Answer(text="Blue"), begin=waiting)
    assert "does not ask the user now" in admissible(answered, event)
    given(*approved_plan(ASK), ask(), c.Answer(text="Blue")).when(c.Expire(requested_version=5)).refused(OutOfTurn)


def test_a_plan_in_review_expires_after_the_approval_timeout() -> None:
    settings = SessionSettings(approval_timeout=60)
    in_review = session_after(c.Say(text="x", workflow="execution_plan", settings=settings), approved_plan(ASK)[1])
    assert expires(in_review)
    assert expire_question(in_review).phase == "resting"
    assert session_after(approve, begin=in_review).phase == "executing"
