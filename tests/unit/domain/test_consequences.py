"""An event names the actions that it ends, so that no reader has to derive them."""

from parley.events import SessionEvent, dump_event
from parley.events.values import PathPlan
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.rules.admissible import WRONG_CONSEQUENCES, admit
from shared.domain.rules.consequences import complete
from tests.unit.domain.spec import (
    LEAVE,
    VERIFYING,
    act,
    allow,
    done,
    feedback,
    given,
    request,
    say,
    status,
    turn,
)

CHAIN = (act("1.1"), act("1.2", "1.1"), act("1.3", "1.2"))
FREE = request("agentflow", approval="never")


def ended_actions(event: SessionEvent) -> list[tuple[str, str]]:
    return [(entry.id, entry.reason) for entry in event.ended]


def test_a_failure_ends_all_actions_that_depend_on_it_indirectly() -> None:
    result = given(FREE, turn(*CHAIN), c.Start()).when(done("1.1", ok=False)).then("actions.finished")
    assert ended_actions(result.event) == [("1.2", "dependency_failed"), ("1.3", "dependency_failed")]
    result.leaves("verifying", "verifier")
    assert [status(result.session, action.id) for action in CHAIN] == ["failed", "skipped", "skipped"]


def test_folding_ends_only_what_the_event_names() -> None:
    """Without the list in the event, dependent actions stay as they are."""
    started = given(FREE, turn(*CHAIN), c.Start())
    stripped = started.when(done("1.1", ok=False)).then_event().model_copy(update={"ended": ()})
    assert [status(evolve(started.session, stripped), action.id) for action in CHAIN] == [
        "failed",
        "planned",
        "planned",
    ]
    assert ended_actions(complete(started.session, stripped)) == [
        ("1.2", "dependency_failed"),
        ("1.3", "dependency_failed"),
    ]


def test_an_expired_approval_names_the_actions_that_folding_denies() -> None:
    first, second, free = act("1.1", ask="a write"), act("1.2", ask="a write"), act("1.3", "1.1")
    waiting = given(FREE, turn(first, second, free), allow("1.2"))
    result = waiting.when(c.Expire(requested_version=2)).then("approval.expired", denied=("1.1",))
    assert ended_actions(result.event) == [("1.3", "dependency_failed")]
    for denied in ((), ("1.1", "1.2"), ("1.3",)):
        event = result.event.model_copy(update={"denied": denied})
        assert complete(waiting.session, event) == result.event
        assert admit(waiting.session, event) == (waiting.session, WRONG_CONSEQUENCES)
        after = evolve(waiting.session, event)
        assert [status(after, action_id) == "denied" for action_id in ("1.1", "1.2", "1.3")] == [
            action_id in denied for action_id in ("1.1", "1.2", "1.3")
        ]


def test_a_planned_turn_names_its_actions_that_can_never_run() -> None:
    denied = act("1.1", policy="deny")
    result = given(FREE).when(turn(denied, act("1.2", "1.1"), act("1.3"))).then("turn.planned")
    assert ended_actions(result.event) == [("1.2", "dependency_failed")]
    assert [status(result.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "denied",
        "skipped",
        "planned",
    ]


def test_a_stop_ends_open_actions_and_a_retry_plans_them_again() -> None:
    story = (FREE, turn(act("1.1", effect="write"), act("1.2", "1.1"), act("1.3", "1.2")), c.Start())
    stopped = given(*story).when(c.Stop()).then("session.stopped")
    assert ended_actions(stopped.event) == [("1.2", "stopped"), ("1.3", "stopped")]
    action = stopped.session.turn.actions[1] if stopped.session.turn else None
    assert action is not None
    assert (action.end_reason, action.explanation) == ("stopped", "it had not begun when the session was stopped")
    assert ended_actions(stopped.given.when(done("1.1")).then("actions.finished").event) == []
    succeeded = given(*story, c.Stop(), done("1.1")).when(c.Retry()).then("session.retried")
    assert [status(succeeded.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "finished",
        "planned",
        "planned",
    ]
    failed = given(*story, c.Stop(), done("1.1", ok=False)).when(c.Retry()).then("session.retried")
    assert ended_actions(failed.event) == [("1.2", "dependency_failed"), ("1.3", "dependency_failed")]


def test_an_action_left_uncertain_ends_its_dependents() -> None:
    story = (FREE, turn(act("1.1", effect="write"), act("1.2", "1.1")), c.Start())
    result = (
        given(*story, c.ReportUncertain(action_id="1.1", reason="?"))
        .when(say(LEAVE))
        .then("question.answered", key="leave")
    )
    assert ended_actions(result.event) == [("1.2", "dependency_failed")]


def test_another_turn_supersedes_open_actions() -> None:
    offered = given(FREE, turn(act("1.1", ask="a write")), feedback("something else"), turn(act("2.1", ask="a write")))
    assert ended_actions(offered.when(c.TakeOffer()).then("turn.planned").event) == [("1.1", "superseded")]
    late = given(FREE, say("and tea"), turn(act("1.1")))
    assert late.session.turn is None
    planned = given(FREE, say("and tea")).when(turn(act("1.1"))).then("turn.planned")
    assert ended_actions(planned.event) == [("1.1", "superseded")], "planned without the latest message"


def test_cancelling_a_plan_ends_its_actions() -> None:
    path = PathPlan(nodes=("orders",))
    steps = c.DraftPlan(goal="g", steps=({"text": "look", "tool": "orders"},), kind="path", path=path)
    result = given(request("flow"), steps, c.Approve(version=2)).when(c.CancelPlan()).then("plan.cancelled")
    assert ended_actions(result.event) == [("1.1", "cancelled")]


def test_an_event_that_ends_nothing_stores_no_list() -> None:
    approved = given(FREE, turn(act("1.1", ask="a write"))).when(allow("1.1")).then_event()
    assert b"ended" not in dump_event(approved)
    assert b"ended" not in dump_event(given(*VERIFYING).when(c.Stop()).then_event())
