"""Whom a session is about: what plans and outcomes tell, and which sessions may recall its work."""

import pytest

from parley.events import facts
from parley.events.values import Outcome, Subjects
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.subjects import memory_subject, recall_subject
from shared.domain.transcript.forks import carry_over, session_forked
from tests.unit.domain.spec import NOON, StoryLine, act, answer, draft, given, new_request, request, turn, verdict
from tests.unit.domain.test_polling import LOOK, POLL, after_poll, approved_plan, begin_polling
from tests.unit.domain.test_waiting_steps import session_after

ANN, BOB = "retail:ann", "retail:bob"
AGENTFLOW = request("agentflow", approval="never", max_turns=100)


def looks(number: int, subject: str | None, *, tells: bool = True, then: str = "continue") -> tuple[StoryLine, ...]:
    """A turn whose only call was about this subject."""
    ended = Outcome(action_id=f"{number}.1", ok=True, subject=subject)
    return turn(act(f"{number}.1"), tells_subjects=tells), c.Start(), c.Finish(outcomes=(ended,)), verdict(then)


def subject_of(session: Session) -> tuple[str, Subjects, str | None]:
    return session.subject, session.subjects, memory_subject(session)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((AGENTFLOW,), ("", "unstated", None)),
        ((AGENTFLOW, turn(nothing=True)), ("", "none", "")),
        ((AGENTFLOW, *looks(1, None, tells=False)), ("", "none", "")),
        ((AGENTFLOW, turn(nothing=True, tells_subjects=True)), ("", "possible", None)),
        ((AGENTFLOW, *looks(1, None)), ("", "possible", None)),
        ((AGENTFLOW, *looks(1, "", tells=False)), ("", "possible", None)),
        ((AGENTFLOW, *looks(1, ANN)), (ANN, "possible", ANN)),
        ((AGENTFLOW, *looks(1, ANN), *looks(2, ""), *looks(3, None, tells=False)), (ANN, "possible", ANN)),
        ((AGENTFLOW, *looks(1, ANN), *looks(2, BOB)), (BOB, "several", None)),
        ((AGENTFLOW, *looks(1, ANN), *looks(2, BOB), *looks(3, BOB)), (BOB, "several", None)),
        ((request("conversation"),), ("", "none", "")),
        ((request("conversation"), draft("Add")), ("", "none", "")),
        ((request("execution_plan"), c.DraftPlan(goal="x", steps=(LOOK,), kind="execution")), ("", "none", "")),
    ],
)
def test_plans_and_outcomes_tell_whom_a_session_is_about(
    lines: tuple[StoryLine, ...], expected: tuple[str, Subjects, str | None]
) -> None:
    session = given(*lines).session
    assert subject_of(session) == expected
    assert recall_subject(session) == (expected[2] or "")


def test_each_request_states_anew_whether_tools_tell_but_a_known_subject_stays() -> None:
    without = given(AGENTFLOW, *looks(1, None, tells=False, then="complete"), answer(), new_request("And now?"))
    assert subject_of(without.session) == ("", "unstated", None)
    known = given(AGENTFLOW, *looks(1, ANN, then="complete"), answer(), new_request("And now?"))
    assert subject_of(known.session) == (ANN, "possible", ANN)
    assert subject_of(given(turn(nothing=True), begin=known.session).session) == (ANN, "possible", ANN)


def test_a_late_outcome_tells_too() -> None:
    stopped = given(AGENTFLOW, turn(act("1.1"), tells_subjects=True), c.Start(), c.Stop())
    ended = c.Finish(outcomes=(Outcome(action_id="1.1", ok=True, subject=ANN),))
    assert subject_of(given(ended, begin=stopped.session).session) == (ANN, "possible", ANN)


def test_a_poll_tells_too() -> None:
    polling = session_after(*approved_plan(POLL), begin_polling())
    assert subject_of(after_poll(polling, 1, {"status": "new"}, subject=ANN)) == (ANN, "possible", ANN)


def test_a_fork_is_about_whom_its_parent_is_about() -> None:
    parent = given(AGENTFLOW, *looks(1, ANN)).session
    fork = facts.SessionForked(
        id="f",
        session_id="f",
        version=1,
        at=NOON,
        actor="user:ann",
        parent_id="s",
        parent_version=1,
        carried=carry_over(parent),
    )
    assert subject_of(session_forked(fork)) == (ANN, "possible", ANN)
    older = fork.model_copy(update={"carried": fork.carried.model_copy(update={"subject": "", "subjects": "several"})})
    assert memory_subject(session_forked(older)) is None


def test_the_turn_remembers_for_whom_was_recalled() -> None:
    first = given(AGENTFLOW, *looks(1, ANN))
    assert first.session.memory.recalled_for == ""
    assert given(*looks(2, ""), begin=first.session).session.memory.recalled_for == ANN
