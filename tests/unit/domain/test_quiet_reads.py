"""Quiet reads begin with the event that makes the executor due; all else is recorded as started before it runs."""

import pytest

from parley.events.values import ActionSpec, PathPlan, ToolRule
from shared.domain import commands as c
from shared.domain.errors import OutOfTurn
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.domain.waves import to_start
from tests.unit.domain.spec import Given, act, allow, anew, done, given, request, runs, status, turn

FREE = request("agentflow", approval="never")
QUIET = ToolRule(effect="read", quiet=True)


def look(id_: str, *after: str, **more: object) -> ActionSpec:
    return act(id_, *after, quiet=True, **more)  # type: ignore[arg-type]


def statuses(session: Session, *ids: str) -> list[str]:
    return [status(session, one) for one in ids]


MIXED = (FREE, turn(look("1.1"), look("1.2"), act("1.3", effect="write"), look("1.4", "1.1")))


def test_a_wave_of_quiet_reads_needs_no_event_of_its_own() -> None:
    told = given(FREE).when(turn(look("1.1"), look("1.2"), look("1.3", "1.2"))).then("turn.planned")
    assert told.event.begins == ("1.1", "1.2")
    assert statuses(told.leaves("executing", "executor").session, "1.1", "1.2", "1.3") == ["running"] * 2 + ["planned"]
    told.given.when(c.Start()).refused(OutOfTurn, "running already")
    first = given(done("1.1"), begin=told.session)
    last = first.when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert last.event.begins == ("1.3",)
    last.given.when(done("1.3")).then("actions.finished").leaves("verifying", "verifier")


def test_of_a_mixed_wave_only_the_rest_is_started_and_nothing_else_begins_until_all_of_it_has_ended() -> None:
    planned = given(*MIXED)
    assert statuses(planned.session, "1.1", "1.2", "1.3", "1.4") == ["running", "running", "planned", "planned"]
    started = planned.when(c.Start()).then("actions.started", actions=runs("1.3")).leaves("executing", "nobody")
    started.given.when(c.Start()).refused(OutOfTurn, "running already")
    for story in (("1.1", "1.2", "1.3"), ("1.3", "1.2", "1.1"), ("1.1", "1.3", "1.2")):
        waits = given(*map(done, story[:2]), begin=started.session)
        assert waits.session.work == planned.session.work, "no event has made the executor due again"
        assert status(waits.session, "1.4") == "planned"
        last = waits.when(done(story[2])).then("actions.finished").leaves("executing", "executor")
        assert last.event.begins == ("1.4",)


def test_what_waits_for_an_outcome_of_the_wave_is_not_part_of_it() -> None:
    """An executor that was killed between the first outcome and the start of the rest starts only the rest."""
    some = given(*MIXED, done("1.1"))
    assert [action.spec.id for action in to_start(some.session)] == ["1.3"]
    some.when(c.Start()).then("actions.started", actions=runs("1.3"))


def test_reads_that_end_before_the_rest_was_started_make_the_executor_due_for_it() -> None:
    told = given(*MIXED, done("1.1")).when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert told.event.begins == ("1.4",)
    told.given.when(c.Start()).then("actions.started", actions=runs("1.3"))


def test_a_stop_ends_what_is_running_and_refuses_what_comes_of_it_later() -> None:
    stopped = given(*MIXED, done("1.2")).when(c.Stop()).then("session.stopped").leaves("resting", "nobody")
    assert [(one.id, one.reason) for one in stopped.event.ended] == [
        ("1.1", "stopped"),
        ("1.3", "stopped"),
        ("1.4", "stopped"),
    ]
    assert stopped.session.turn is not None
    cut_off = stopped.session.turn.actions[0]
    assert (cut_off.status, cut_off.explanation) == ("failed", "Stopped by the person.")
    stopped.given.when(done("1.1")).refused(OutOfTurn, "not running")
    assert stopped.session.left_running == ()


def test_after_a_failure_a_retry_runs_again_what_was_running_beside_what_is_ready() -> None:
    failed = given(*MIXED, done("1.1"), c.Fail(reason="no room")).when(c.Retry()).then("session.retried")
    assert failed.leaves("executing", "executor").event.begins == ()
    assert statuses(failed.session, "1.1", "1.2", "1.3", "1.4") == ["finished", "running", "planned", "planned"]
    assert [action.spec.id for action in to_start(failed.session)] == ["1.3", "1.4"]
    last = failed.given.when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert last.event.begins == ("1.4",)


def test_what_is_running_of_a_turn_that_is_left_ends_with_it() -> None:
    told = given(*MIXED, c.Fail(reason="no room")).when(anew("another thing")).then("message.received")
    assert [(one.id, one.reason) for one in told.event.ended[:2]] == [("1.1", "superseded"), ("1.2", "superseded")]
    assert told.session.left_running == ()


def test_nothing_begins_while_the_session_is_paused() -> None:
    paused = given(*MIXED[:1], turn(look("1.1"), look("1.2", "1.1")), c.Pause())
    ended = paused.when(done("1.1")).then("actions.finished").leaves("executing", "nobody")
    assert ended.event.begins == ()
    assert ended.given.when(c.Resume()).then("session.resumed").event.begins == ("1.2",)


@pytest.mark.parametrize(
    "loud",
    [
        {"ask": "look first"},
        {"effect": "write"},
        {"quiet": False},
    ],
)
def test_quiet_counts_only_for_a_read_that_nobody_has_to_allow(loud: dict[str, object]) -> None:
    spec = act("1.1", **{"quiet": True, **loud})  # type: ignore[arg-type]
    assert given(FREE).when(turn(spec)).then("turn.planned").event.begins == ()


def test_a_read_that_a_policy_asks_for_is_started_after_the_yes() -> None:
    asked = given(request("agentflow", approval="always"), turn(look("1.1")), allow("1.1"))
    asked.when(c.Start(tools={"orders": QUIET})).then("actions.started", actions=runs("1.1"))


def test_nodes_of_a_path_are_never_quiet() -> None:
    path = PathPlan(nodes=("sql.look",))
    assert given(FREE).when(turn(look("1.1"), path=path)).then("turn.planned").event.begins == ()


# --- what an event says of quiet does not count


def test_a_tool_that_is_not_quiet_is_started_before_it_runs() -> None:
    misled = given(FREE, turn(look("1.1"), look("1.2", tool="store")))
    rules = {"orders": ToolRule(effect="read"), "store": QUIET}
    told = misled.when(c.Start(tools=rules)).then("turn.changed").leaves("executing", "nobody")
    assert statuses(told.session, "1.1", "1.2") == ["planned", "running"]
    again = told.given.when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert again.event.begins == ()
    again.given.when(c.Start(tools=rules)).then("actions.started", actions=runs("1.1"))


def test_a_write_that_its_plan_calls_a_quiet_read_waits_for_a_person() -> None:
    misled = given(request("agentflow"), turn(look("1.1")))
    held = misled.when(c.Start(tools={"orders": ToolRule(effect="write")})).then("turn.changed")
    held.leaves("awaiting_approval", "user")
    held.given.when(done("1.1")).refused(OutOfTurn, "not running")


def test_an_event_that_says_it_begins_a_write_does_not() -> None:
    waits = given(request("agentflow")).when(turn(act("1.1", effect="write"))).then_event()
    forged = waits.model_copy(update={"begins": ("1.1",)})
    assert status(evolve(given(request("agentflow")).session, forged), "1.1") == "planned"


def test_a_person_may_not_skip_what_is_running() -> None:
    running = given(*MIXED)
    running.when(c.Skip(action_id="1.1")).refused(OutOfTurn, "too late")
    assert isinstance(running, Given)
