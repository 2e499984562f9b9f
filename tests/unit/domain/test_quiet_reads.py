"""Quiet reads start with the event that makes the executor due; other actions with an `actions.started` event."""

import pytest

from parley.events.values import ActionSpec, PathPlan, ToolRule
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.turn.batches import actions_to_start
from tests.unit.domain.spec import Given, act, allow, done, first_attempts, given, new_request, request, status, turn

WITHOUT_APPROVALS = request("agentflow", approval="never")
QUIET = ToolRule(effect="read", quiet=True)


def look(id_: str, *after: str, **fields: object) -> ActionSpec:
    return act(id_, *after, quiet=True, **fields)  # type: ignore[arg-type]


def statuses(session: Session, *ids: str) -> list[str]:
    return [status(session, action_id) for action_id in ids]


MIXED = (WITHOUT_APPROVALS, turn(look("1.1"), look("1.2"), act("1.3", effect="write"), look("1.4", "1.1")))


def test_a_batch_of_quiet_reads_needs_no_start_event() -> None:
    result = given(WITHOUT_APPROVALS).when(turn(look("1.1"), look("1.2"), look("1.3", "1.2"))).then("turn.planned")
    assert result.event.begins == ("1.1", "1.2")
    assert statuses(result.leaves("executing", "executor").session, "1.1", "1.2", "1.3") == ["running"] * 2 + [
        "planned"
    ]
    result.given.when(c.Start()).refused(OutOfTurn, "running already")
    first = given(done("1.1"), begin=result.session)
    last = first.when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert last.event.begins == (), "the executor has its pack check a call that depends on others"
    started = last.given.when(c.Start()).then("actions.started", actions=first_attempts("1.3"))
    started.given.when(done("1.3")).then("actions.finished").leaves("verifying", "verifier")


def test_in_a_mixed_batch_only_the_other_actions_need_a_start_event() -> None:
    planned = given(*MIXED)
    assert statuses(planned.session, "1.1", "1.2", "1.3", "1.4") == ["running", "running", "planned", "planned"]
    started = (
        planned.when(c.Start()).then("actions.started", actions=first_attempts("1.3")).leaves("executing", "nobody")
    )
    started.given.when(c.Start()).refused(OutOfTurn, "running already")
    for story in (("1.1", "1.2", "1.3"), ("1.3", "1.2", "1.1"), ("1.1", "1.3", "1.2")):
        waits = given(*map(done, story[:2]), begin=started.session)
        assert waits.session.work == planned.session.work, "no event has made the executor due again"
        assert status(waits.session, "1.4") == "planned"
        last = waits.when(done(story[2])).then("actions.finished").leaves("executing", "executor")
        assert last.event.begins == ()


def test_dependents_of_running_actions_do_not_join_their_batch() -> None:
    """An executor that crashed after the first outcome starts only the batch's remaining actions."""
    after_one = given(*MIXED, done("1.1"))
    assert [action.spec.id for action in actions_to_start(after_one.session)] == ["1.3"]
    after_one.when(c.Start()).then("actions.started", actions=first_attempts("1.3"))


def test_when_the_reads_end_first_the_executor_is_due_for_the_other_actions() -> None:
    result = given(*MIXED, done("1.1")).when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert result.event.begins == ()
    result.given.when(c.Start()).then("actions.started", actions=first_attempts("1.3", "1.4"))


def test_a_stop_ends_quiet_reads_and_refuses_their_late_outcomes() -> None:
    stopped = given(*MIXED, done("1.2")).when(c.Stop()).then("session.stopped").leaves("resting", "nobody")
    assert [(entry.id, entry.reason) for entry in stopped.event.ended] == [
        ("1.1", "stopped"),
        ("1.3", "stopped"),
        ("1.4", "stopped"),
    ]
    assert stopped.session.turn is not None
    cut_off = stopped.session.turn.actions[0]
    assert (cut_off.status, cut_off.explanation) == ("failed", "Stopped by the person.")
    stopped.given.when(done("1.1")).refused(OutOfTurn, "not running")
    assert stopped.session.left_running == ()


def test_a_retry_after_a_failure_repeats_the_interrupted_reads() -> None:
    failed = given(*MIXED, done("1.1"), c.Fail(reason="no room")).when(c.Retry()).then("session.retried")
    assert failed.leaves("executing", "executor").event.begins == ()
    assert statuses(failed.session, "1.1", "1.2", "1.3", "1.4") == ["finished", "running", "planned", "planned"]
    assert [action.spec.id for action in actions_to_start(failed.session)] == ["1.3", "1.4"]
    last = failed.given.when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert last.event.begins == ()


def test_a_new_request_ends_quiet_reads() -> None:
    result = given(*MIXED, c.Fail(reason="no room")).when(new_request("another thing")).then("message.received")
    assert [(entry.id, entry.reason) for entry in result.event.ended[:2]] == [
        ("1.1", "superseded"),
        ("1.2", "superseded"),
    ]
    assert result.session.left_running == ()


def test_no_quiet_read_starts_while_the_session_is_paused() -> None:
    paused = given(*MIXED[:1], turn(look("1.1"), look("1.2", "1.1")), c.Pause())
    ended = paused.when(done("1.1")).then("actions.finished").leaves("executing", "nobody")
    assert ended.event.begins == ()
    assert ended.given.when(c.Resume()).then("session.resumed").leaves("executing", "executor").event.begins == ()


@pytest.mark.parametrize("not_quiet", [{"ask": "look first"}, {"effect": "write"}, {"quiet": False}])
def test_only_a_read_without_approval_can_be_quiet(not_quiet: dict[str, object]) -> None:
    spec = act("1.1", **{"quiet": True, **not_quiet})  # type: ignore[arg-type]
    assert given(WITHOUT_APPROVALS).when(turn(spec)).then("turn.planned").event.begins == ()


def test_a_read_that_needs_approval_is_started_after_it() -> None:
    asked = given(request("agentflow", approval="always"), turn(look("1.1")), allow("1.1"))
    asked.when(c.Start(tools={"orders": QUIET})).then("actions.started", actions=first_attempts("1.1"))


def test_nodes_of_a_path_are_never_quiet() -> None:
    path = PathPlan(nodes=("sql.look",))
    assert given(WITHOUT_APPROVALS).when(turn(look("1.1"), path=path)).then("turn.planned").event.begins == ()


# --- the executor does not trust events


def test_a_tool_that_is_not_quiet_is_started_before_it_runs() -> None:
    planned_as_quiet = given(WITHOUT_APPROVALS, turn(look("1.1"), look("1.2", tool="store")))
    rules = {"orders": ToolRule(effect="read"), "store": QUIET}
    result = planned_as_quiet.when(c.Start(tools=rules)).then("turn.changed").leaves("executing", "nobody")
    assert statuses(result.session, "1.1", "1.2") == ["planned", "running"]
    again = result.given.when(done("1.2")).then("actions.finished").leaves("executing", "executor")
    assert again.event.begins == ()
    again.given.when(c.Start(tools=rules)).then("actions.started", actions=first_attempts("1.1"))


def test_a_write_planned_as_a_quiet_read_waits_for_approval() -> None:
    planned_as_quiet = given(request("agentflow"), turn(look("1.1")))
    waiting = planned_as_quiet.when(c.Start(tools={"orders": ToolRule(effect="write")})).then("turn.changed")
    waiting.leaves("awaiting_approval", "user")
    waiting.given.when(done("1.1")).refused(OutOfTurn, "not running")


def test_an_event_cannot_begin_a_write() -> None:
    waits = given(request("agentflow")).when(turn(act("1.1", effect="write"))).then_event()
    invalid_event = waits.model_copy(update={"begins": ("1.1",)})
    assert status(evolve(given(request("agentflow")).session, invalid_event), "1.1") == "planned"


def test_a_running_action_cannot_be_skipped() -> None:
    running = given(*MIXED)
    running.when(c.Skip(action_id="1.1")).refused(OutOfTurn, "too late")
    assert isinstance(running, Given)
