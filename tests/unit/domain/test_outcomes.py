"""What came of started actions: several at once, results that are stored apart, and what nobody is left to tell."""

import pytest

from parley.events.values import ActionAttempt, Artefact, Outcome
from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.errors import OutOfTurn
from shared.domain.outcomes import LEFT, RESULT_LEFT, abandoned
from shared.domain.session import Session
from shared.domain.state import Action
from shared.domain.waves import find
from shared.story import finish
from tests.unit.domain.spec import act, anew, given, request, say, status, turn, verdict

FLOW = (request("agentflow", approval="never"),)
THREE = (*FLOW, turn(act("1.1"), act("1.2"), act("1.3", effect="write")), c.Start())
WORK = Work(service="executor", version=2)
WHOLE = Artefact(name="s1/1/1.1/1", size=90_000, sha256="0" * 64)
LARGE = finish("1.1", ok=True, result="the beg…", size=90_000)
STORE = c.StoreResult(action_id="1.1", artefact=WHOLE)
LOSE = c.LoseResult(action_id="1.1", reason="no room")
ONE = (*FLOW, turn(), c.Start())


def outcomes(*ids: str) -> c.Finish:
    return c.Finish(outcomes=tuple(Outcome(action_id=one, ok=True) for one in ids))


def the(session: Session, action_id: str = "1.1") -> Action:
    action = find(session, action_id)
    assert action is not None
    return action


def test_one_event_holds_several_outcomes_and_the_last_one_moves_the_turn_on() -> None:
    two = given(*THREE).when(outcomes("1.2", "1.3")).then("actions.finished").leaves("executing", "nobody")
    assert [status(two.session, one) for one in ("1.1", "1.2", "1.3")] == ["started", "finished", "finished"]
    two.given.when(outcomes("1.1")).then("actions.finished").leaves("verifying", "verifier")


def test_an_outcome_that_is_recorded_already_is_left_out() -> None:
    told = given(*THREE, outcomes("1.1")).when(outcomes("1.1", "1.2"))
    told.then("actions.finished", outcomes=outcomes("1.2").outcomes)
    given(*THREE, outcomes("1.1", "1.2")).when(outcomes("1.1", "1.2")).refused(OutOfTurn, "1.1 is not running")


@pytest.mark.parametrize(
    ("command", "kind", "artefact", "error"),
    [(STORE, "result.stored", WHOLE, ""), (LOSE, "result.lost", None, "no room")],
)
def test_the_turn_goes_on_when_the_whole_result_is_stored_or_lost(
    command: c.StoreResult | c.LoseResult, kind: str, artefact: Artefact | None, error: str
) -> None:
    known = given(*ONE).when(LARGE).then("actions.finished").leaves("executing", "nobody")
    assert (status(known.session, "1.1"), the(known.session).result) == ("finished", "the beg…")
    known.given.when(c.Start(), work=WORK).refused(OutOfTurn)
    told = known.given.when(command).then(kind).leaves("verifying", "verifier")
    assert (the(told.session).artefact, the(told.session).error) == (artefact, error)
    told.given.when(STORE).refused(OutOfTurn, "No result of action 1.1 is being stored")


def test_a_result_that_is_lost_keeps_the_error_of_its_outcome() -> None:
    failed = finish("1.1", ok=False, result="the beg…", error="exit code 1", size=90_000)
    told = given(*ONE, failed).when(LOSE).then("result.lost").leaves("verifying", "verifier")
    assert the(told.session).error == "exit code 1"


def test_a_result_that_is_stored_after_a_stop_is_known_and_asks_nobody() -> None:
    told = given(*ONE, LARGE, c.Stop()).when(STORE).then("result.stored").leaves("resting", "nobody")
    assert the(told.session).artefact == WHOLE


def test_a_result_may_be_stored_when_its_turn_is_over() -> None:
    """Also the outcome may come that late; it is remembered once."""
    left = given(*ONE, c.Stop(), anew("something else"))
    known = left.when(LARGE, "executor", work=WORK).then("actions.finished").leaves("planning", "nobody")
    assert [action.storing for action in known.session.left_running] == [True]
    told = known.given.when(STORE, "executor", work=WORK).then("result.stored", action_id="1.1")
    told.leaves("planning", "nobody", left_running=())
    assert [deed.text for deed in told.session.memory.deeds] == ["the beg…"]


def test_a_retry_takes_up_a_result_that_was_being_stored() -> None:
    told = given(*ONE, LARGE, c.Stop()).when(c.Retry()).then("session.retried").leaves("executing", "executor")
    assert the(told.session).began == told.event.version
    told.given.when(LOSE).then("result.lost").leaves("verifying", "verifier")


# --- nobody is left to tell


def test_what_passed_work_left_is_in_doubt() -> None:
    story = (*THREE, finish("1.1", ok=True, result="the beg…", size=90_000))
    assert abandoned(given(*story).session, WORK) == (), "its executor is due"
    stopped = given(*story, c.Stop()).session
    assert abandoned(stopped, WORK) == (
        c.LoseResult(action_id="1.1", reason=RESULT_LEFT),
        c.Uncertain(action_id="1.2", reason=LEFT),
        c.Uncertain(action_id="1.3", reason=LEFT),
    )
    assert abandoned(stopped, Work(service="executor", version=1)) == ()
    ended = given(*abandoned(stopped, WORK), begin=stopped)
    assert abandoned(ended.session, WORK) == ()
    assert [status(ended.session, one) for one in ("1.1", "1.2", "1.3")] == ["finished", "failed", "uncertain"]


def test_what_outlived_its_turn_is_in_doubt_whoever_is_due() -> None:
    later = given(*THREE, c.Stop(), say("something else"), turn(act("2.1"))).session
    assert (later.phase, len(abandoned(later, WORK))) == ("executing", 3)
    ended = given(*abandoned(later, WORK), begin=later).session
    assert (ended.left_running, ended.phase) == ((), "executing")


def test_what_a_retry_took_up_is_not_the_first_work_s_any_more() -> None:
    again = given(*THREE, c.Stop(), c.Retry(), c.Stop()).session
    assert abandoned(again, WORK) == ()
    assert len(abandoned(again, Work(service="executor", version=5))) == 3


# --- attempts


def test_an_attempt_grows_with_each_run_that_is_known_to_have_ended() -> None:
    doubt = c.Uncertain(action_id="1.1", reason="?")
    first = (*FLOW, turn(act("1.1", effect="write")), c.Start(), doubt)
    told = given(*first, say("It did not happen: run it again")).when(c.Start())
    second = told.then("actions.started", actions=(ActionAttempt(action_id="1.1", attempt=2),)).given
    second.when(c.Uncertain(action_id="1.1", attempt=2, reason="?")).then("action.uncertain", attempt=2)


def test_an_action_that_is_in_doubt_keeps_its_attempt() -> None:
    """Whoever takes it up asks by the same key what became of it."""
    held = given(*FLOW, turn(act("1.1", effect="write")), c.Start(), c.Stop(), c.Retry())
    assert the(held.session).attempt == 1
    held.when(finish("1.1", ok=True)).then("actions.finished").given.when(verdict()).then("turn.verified")
