"""The attempt number of a step's call, which gives its idempotency key, across versions of the plan."""

from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, undecided_actions
from shared.story import finish_action
from tests.unit.domain.outputs import executor_command
from tests.unit.domain.spec import StoryLine, approve, given, request, verdict

LOOK = Step(text="Look", tool="look", id="s1", effect="read")
TELL = Step(text="Tell", tool="tell", id="s2", effect="read", arguments={"x": "{{steps.s1.output.made}}"})
PAY = Step(text="Pay", tool="pay", id="s3", effect="write", arguments={"sum": 1})
ASK = Step(text="Ask", tool="look", id="s4", effect="read")
REST = (verdict("complete", "failure"), c.GiveAnswer(text="It failed.", confidence=0))


def session_after(*lines: StoryLine, begin: Session | None = None) -> Session:
    return given(*lines, begin=begin).session


def planned(*steps: Step) -> Session:
    return session_after(request("execution_plan"), c.DraftPlan(goal="Pay", steps=steps, kind="execution"), approve)


def attempts(session: Session) -> dict[str, int]:
    return {a.spec.id.removeprefix("t2."): a.attempt for a in session.turn.actions} if session.turn else {}


def edited(session: Session, *steps: Step) -> Session:
    """The session with another approved version of the plan."""
    assert session.plan
    return session_after(c.EditPlan(base=session.plan.version, steps=steps), approve, begin=session)


def resolved(session: Session) -> Session:
    command = executor_command(session)
    assert command
    return session_after(command, begin=session)


def test_resolving_references_keeps_the_attempt_number_of_a_retry() -> None:
    looked = session_after(c.Start(), finish_action(action_id="t2.s1", result={"made": 1}), begin=planned(LOOK, TELL))
    failed = session_after(c.Start(), finish_action(action_id="t2.s2", ok=False), *REST, begin=resolved(looked))
    again = session_after(c.Retry(), begin=failed)
    assert attempts(again)["s2"] == attempts(resolved(again))["s2"] == 2


def test_an_uncertain_step_keeps_its_key_in_the_next_version() -> None:
    started = session_after(c.Start(), c.ReportUncertain(action_id="t2.s3", reason="crashed"), begin=planned(PAY))
    later = edited(started, PAY, LOOK)
    assert [action.spec.id for action in undecided_actions(later.turn)] == ["t2.s3"]  # the user must approve it first
    assert attempts(later) == {"s3": 1, "s1": 1}


def test_attempts_are_counted_across_versions() -> None:
    failed = session_after(c.Start(), finish_action(action_id="t2.s3", ok=False), *REST, begin=planned(PAY))
    twice = session_after(
        c.Retry(), c.Start(), finish_action(action_id="t2.s3", attempt=2, ok=False), *REST, begin=failed
    )
    assert attempts(edited(edited(twice, PAY, LOOK), PAY, ASK))["s3"] == 3


def test_attempts_start_at_one_for_another_request() -> None:
    failed = session_after(c.Start(), finish_action(action_id="t2.s3", ok=False), *REST, begin=planned(PAY))
    assert failed.plan
    over = session_after(c.CancelPlan(), begin=failed)
    fresh = session_after(request("execution_plan", text="Pay once more"), begin=over)
    assert fresh.attempts == {}
