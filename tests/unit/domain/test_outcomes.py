"""Outcomes of started actions: several at once, results stored separately, and actions whose worker has ended."""

import pytest

from parley.events.values import ActionAttempt, Artefact, Outcome
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Work
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.turn.batches import find_action
from shared.domain.turn.outcomes import LEFT, RESULT_LEFT, close_abandoned
from shared.story import finish_action
from tests.unit.domain.spec import act, given, new_request, request, say, status, turn, verdict

AGENTFLOW = (request("agentflow", approval="never"),)
THREE_STARTED = (*AGENTFLOW, turn(act("1.1"), act("1.2"), act("1.3", effect="write")), c.Start())
WORK = Work(service="executor", version=2)
ARTEFACT = Artefact(name="s1/1/1.1/1", size=90_000, sha256="0" * 64)
LARGE = finish_action("1.1", ok=True, result="the beg…", size=90_000)
STORE = c.StoreResult(action_id="1.1", artefact=ARTEFACT)
LOSE = c.LoseResult(action_id="1.1", reason="no room")
ONE_STARTED = (*AGENTFLOW, turn(), c.Start())


def outcomes(*ids: str) -> c.Finish:
    return c.Finish(outcomes=tuple(Outcome(action_id=action_id, ok=True) for action_id in ids))


def action_of(session: Session, action_id: str = "1.1") -> Action:
    action = find_action(session, action_id)
    assert action is not None
    return action


def test_one_event_holds_several_outcomes_and_the_turn_is_verified_after_the_last() -> None:
    two = given(*THREE_STARTED).when(outcomes("1.2", "1.3")).then("actions.finished").leaves("executing", "nobody")
    assert [status(two.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "started",
        "finished",
        "finished",
    ]
    two.given.when(outcomes("1.1")).then("actions.finished").leaves("verifying", "verifier")


def test_an_outcome_that_is_already_recorded_is_not_recorded_again() -> None:
    result = given(*THREE_STARTED, outcomes("1.1")).when(outcomes("1.1", "1.2"))
    result.then("actions.finished", outcomes=outcomes("1.2").outcomes)
    given(*THREE_STARTED, outcomes("1.1", "1.2")).when(outcomes("1.1", "1.2")).refused(OutOfTurn, "1.1 is not running")


@pytest.mark.parametrize(
    ("command", "kind", "artefact", "error"),
    [(STORE, "result.stored", ARTEFACT, ""), (LOSE, "result.lost", None, "no room")],
)
def test_the_turn_continues_when_the_full_result_is_stored_or_lost(
    command: c.StoreResult | c.LoseResult, kind: str, artefact: Artefact | None, error: str
) -> None:
    known = given(*ONE_STARTED).when(LARGE).then("actions.finished").leaves("executing", "nobody")
    assert (status(known.session, "1.1"), action_of(known.session).result) == ("finished", "the beg…")
    known.given.when(c.Start(), work=WORK).refused(OutOfTurn)
    result = known.given.when(command).then(kind).leaves("verifying", "verifier")
    assert (action_of(result.session).artefact, action_of(result.session).error) == (artefact, error)
    result.given.when(STORE).refused(OutOfTurn, "No result of action 1.1 is being stored")


def test_a_lost_result_keeps_the_error_of_its_outcome() -> None:
    failed = finish_action("1.1", ok=False, result="the beg…", error="exit code 1", size=90_000)
    result = given(*ONE_STARTED, failed).when(LOSE).then("result.lost").leaves("verifying", "verifier")
    assert action_of(result.session).error == "exit code 1"


def test_a_result_can_be_stored_after_a_stop_without_a_question() -> None:
    result = given(*ONE_STARTED, LARGE, c.Stop()).when(STORE).then("result.stored").leaves("resting", "nobody")
    assert action_of(result.session).artefact == ARTEFACT


def test_a_result_can_be_stored_after_its_turn() -> None:
    """Even if the outcome also arrives after the turn; the memory gets it once."""
    stopped = given(*ONE_STARTED, c.Stop(), new_request("something else"))
    known = stopped.when(LARGE, "executor", work=WORK).then("actions.finished").leaves("planning", "nobody")
    assert [action.storing for action in known.session.left_running] == [True]
    result = known.given.when(STORE, "executor", work=WORK).then("result.stored", action_id="1.1")
    result.leaves("planning", "nobody", left_running=())
    assert [deed.text for deed in result.session.memory.deeds] == ["the beg…"]


def test_a_retry_continues_storing_a_result() -> None:
    result = (
        given(*ONE_STARTED, LARGE, c.Stop()).when(c.Retry()).then("session.retried").leaves("executing", "executor")
    )
    assert action_of(result.session).began == result.event.version
    result.given.when(LOSE).then("result.lost").leaves("verifying", "verifier")


# --- actions whose worker has ended


def test_actions_of_ended_work_become_uncertain() -> None:
    story = (*THREE_STARTED, finish_action("1.1", ok=True, result="the beg…", size=90_000))
    assert close_abandoned(given(*story).session, WORK) == (), "the executor is due"
    stopped = given(*story, c.Stop()).session
    assert close_abandoned(stopped, WORK) == (
        c.LoseResult(action_id="1.1", reason=RESULT_LEFT),
        c.ReportUncertain(action_id="1.2", reason=LEFT),
        c.ReportUncertain(action_id="1.3", reason=LEFT),
    )
    assert close_abandoned(stopped, Work(service="executor", version=1)) == ()
    ended = given(*close_abandoned(stopped, WORK), begin=stopped)
    assert close_abandoned(ended.session, WORK) == ()
    assert [status(ended.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "finished",
        "failed",
        "uncertain",
    ]


def test_a_failed_sessions_reason_is_that_of_the_actions_it_left() -> None:
    failed = given(*THREE_STARTED, c.Fail(reason="The model's reply is no JSON.")).session
    read, *_, write = close_abandoned(failed, WORK, by_executor=True)
    assert isinstance(read, c.Finish)
    assert [(each.ok, each.error) for each in read.outcomes] == [(False, "The model's reply is no JSON.")]
    assert write == c.ReportUncertain(action_id="1.3", reason="The model's reply is no JSON.")
    assert not [command for command in close_abandoned(failed, WORK) if isinstance(command, c.Finish)]
    ended = given(*close_abandoned(failed, WORK, by_executor=True), begin=failed).session
    assert [status(ended, name) for name in ("1.1", "1.2", "1.3")] == ["failed", "failed", "uncertain"]


def test_actions_that_an_earlier_turn_left_running_become_uncertain() -> None:
    later = given(*THREE_STARTED, c.Stop(), say("something else"), turn(act("2.1"))).session
    assert (later.phase, len(close_abandoned(later, WORK))) == ("executing", 3)
    ended = given(*close_abandoned(later, WORK), begin=later).session
    assert (ended.left_running, ended.phase) == ((), "executing")


def test_after_a_retry_running_actions_belong_to_the_new_work() -> None:
    again = given(*THREE_STARTED, c.Stop(), c.Retry(), c.Stop()).session
    assert close_abandoned(again, WORK) == ()
    assert len(close_abandoned(again, Work(service="executor", version=5))) == 3


# --- attempts


def test_each_repeated_run_has_the_next_attempt_number() -> None:
    uncertain = c.ReportUncertain(action_id="1.1", reason="?")
    first = (*AGENTFLOW, turn(act("1.1", effect="write")), c.Start(), uncertain)
    result = given(*first, say("It did not happen: run it again")).when(c.Start())
    second = result.then("actions.started", actions=(ActionAttempt(action_id="1.1", attempt=2),)).given
    second.when(c.ReportUncertain(action_id="1.1", attempt=2, reason="?")).then("action.uncertain", attempt=2)


def test_an_action_that_still_runs_keeps_its_attempt_number_on_retry() -> None:
    """The next worker asks the tool about it with the same key."""
    waiting = given(*AGENTFLOW, turn(act("1.1", effect="write")), c.Start(), c.Stop(), c.Retry())
    assert action_of(waiting.session).attempt == 1
    waiting.when(finish_action("1.1", ok=True)).then("actions.finished").given.when(verdict()).then("turn.verified")
