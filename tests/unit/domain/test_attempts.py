"""Which attempt of its step a call is: its idempotency key follows from it, in every version of the plan."""

from parley.events.values import Step
from shared.domain import commands as c
from shared.domain.session import Session, undecided
from shared.story import finish
from tests.unit.domain.outputs import with_outputs
from tests.unit.domain.spec import StoryLine, approve, given, request, verdict

LOOK = Step(text="Look", tool="look", id="s1", effect="read")
TELL = Step(text="Tell", tool="tell", id="s2", effect="read", arguments={"x": "{{steps.s1.output.made}}"})
PAY = Step(text="Pay", tool="pay", id="s3", effect="write", arguments={"sum": 1})
ASK = Step(text="Ask", tool="look", id="s4", effect="read")
REST = (verdict("complete", "failure"), c.GiveAnswer(text="It failed.", confidence=0))


def told(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def planned(*steps: Step) -> Session:
    return told(request("execution_plan"), c.DraftPlan(goal="Pay", steps=steps, kind="execution"), approve)


def attempts(session: Session) -> dict[str, int]:
    return {a.spec.id.removeprefix("t2."): a.attempt for a in session.turn.actions} if session.turn else {}


def edited(session: Session, *steps: Step) -> Session:
    """Another version of the plan, approved."""
    assert session.plan
    return told(c.EditPlan(base=session.plan.version, steps=steps), approve, begin=session)


def resolved(session: Session) -> Session:
    command = with_outputs(session)
    assert command
    return told(command, begin=session)


def test_a_retry_is_another_attempt_also_once_its_references_are_resolved() -> None:
    looked = told(c.Start(), finish(action_id="t2.s1", result={"made": 1}), begin=planned(LOOK, TELL))
    failed = told(c.Start(), finish(action_id="t2.s2", ok=False), *REST, begin=resolved(looked))
    again = told(c.Retry(), begin=failed)
    assert attempts(again)["s2"] == attempts(resolved(again))["s2"] == 2


def test_what_failed_is_another_attempt_in_the_next_version() -> None:
    failed = told(c.Start(), finish(action_id="t2.s3", ok=False), *REST, begin=planned(PAY))
    assert attempts(edited(failed, PAY, LOOK)) == {"s3": 2, "s1": 1}


def test_what_is_in_doubt_keeps_its_key_in_the_next_version() -> None:
    begun = told(c.Start(), c.Uncertain(action_id="t2.s3", reason="crashed"), begin=planned(PAY))
    later = edited(begun, PAY, LOOK)
    assert [action.spec.id for action in undecided(later.turn)] == ["t2.s3"]  # and a person is asked before
    assert attempts(later) == {"s3": 1, "s1": 1}


def test_a_version_after_two_tries_goes_on_counting() -> None:
    failed = told(c.Start(), finish(action_id="t2.s3", ok=False), *REST, begin=planned(PAY))
    twice = told(c.Retry(), c.Start(), finish(action_id="t2.s3", attempt=2, ok=False), *REST, begin=failed)
    assert attempts(edited(edited(twice, PAY, LOOK), PAY, ASK))["s3"] == 3


def test_another_request_counts_anew() -> None:
    failed = told(c.Start(), finish(action_id="t2.s3", ok=False), *REST, begin=planned(PAY))
    assert failed.plan
    over = told(c.CancelPlan(), begin=failed)
    fresh = told(request("execution_plan", text="Pay once more"), begin=over)
    assert fresh.attempts == {}
