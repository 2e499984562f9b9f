"""What an event ends besides its own content is in its body: nothing that folds or shows it concludes it again."""

from parley.events import SessionEvent, dump_event, facts
from parley.events.values import Outcome, PathPlan
from shared.domain import commands as c
from shared.domain.admissible import WRONG_CONSEQUENCES, admit
from shared.domain.consequences import complete
from shared.domain.evolve import evolve
from shared.domain.session import Session
from tests.unit.domain.spec import (
    LEAVE,
    VERIFYING,
    Given,
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


def ended(event: SessionEvent) -> list[tuple[str, str]]:
    return [(one.id, one.reason) for one in event.ended]


def test_a_failure_ends_what_depends_on_it_over_all_steps() -> None:
    told = given(FREE, turn(*CHAIN), c.Start()).when(done("1.1", ok=False)).then("actions.finished")
    assert ended(told.event) == [("1.2", "dependency_failed"), ("1.3", "dependency_failed")]
    told.leaves("verifying", "verifier")
    assert [status(told.session, one.id) for one in CHAIN] == ["failed", "skipped", "skipped"]


def test_folding_concludes_nothing() -> None:
    """An event that does not say what it ends leaves it as it is."""
    started = given(FREE, turn(*CHAIN), c.Start())
    bare = started.when(done("1.1", ok=False)).then_event().model_copy(update={"ended": ()})
    assert [status(evolve(started.session, bare), one.id) for one in CHAIN] == ["failed", "planned", "planned"]
    assert ended(complete(started.session, bare)) == [("1.2", "dependency_failed"), ("1.3", "dependency_failed")]


def test_nobody_is_asked_about_an_action_that_cannot_run_any_more() -> None:
    first, second = act("1.1", ask="a write"), act("1.2", "1.1", ask="a write")
    refused = given(FREE, turn(first, second)).when(c.Reject(action_id="1.1")).then("approval.denied")
    assert ended(refused.event) == [("1.2", "dependency_failed")]
    refused.leaves("verifying", "verifier")


def test_an_approval_that_expires_says_what_it_denies_and_folding_denies_nothing_else() -> None:
    first, second, free = act("1.1", ask="a write"), act("1.2", ask="a write"), act("1.3", "1.1")
    waiting = given(FREE, turn(first, second, free), allow("1.2"))
    told = waiting.when(c.Expire(requested_version=2)).then("approval.expired", denied=("1.1",))
    assert ended(told.event) == [("1.3", "dependency_failed")]
    for wrong in ((), ("1.1", "1.2"), ("1.3",)):
        event = told.event.model_copy(update={"denied": wrong})
        assert complete(waiting.session, event) == told.event
        assert admit(waiting.session, event) == (waiting.session, WRONG_CONSEQUENCES)
        after = evolve(waiting.session, event)
        assert [status(after, one) == "denied" for one in ("1.1", "1.2", "1.3")] == [
            one in wrong for one in ("1.1", "1.2", "1.3")
        ]


def test_a_turn_says_which_of_its_own_actions_can_never_run() -> None:
    denied = act("1.1", policy="deny")
    told = given(FREE).when(turn(denied, act("1.2", "1.1"), act("1.3"))).then("turn.planned")
    assert ended(told.event) == [("1.2", "dependency_failed")]
    assert [status(told.session, one) for one in ("1.1", "1.2", "1.3")] == ["denied", "skipped", "planned"]


def test_a_stop_ends_what_has_not_begun_and_a_retry_plans_it_again() -> None:
    story = (FREE, turn(act("1.1", effect="write"), act("1.2", "1.1"), act("1.3", "1.2")), c.Start())
    stopped = given(*story).when(c.Stop()).then("session.stopped")
    assert ended(stopped.event) == [("1.2", "stopped"), ("1.3", "stopped")]
    action = stopped.session.turn.actions[1] if stopped.session.turn else None
    assert action is not None
    assert (action.end_reason, action.explanation) == ("stopped", "it had not begun when the session was stopped")
    assert ended(stopped.given.when(done("1.1")).then("actions.finished").event) == []
    went_well = given(*story, c.Stop(), done("1.1")).when(c.Retry()).then("session.retried")
    assert [status(went_well.session, one) for one in ("1.1", "1.2", "1.3")] == ["finished", "planned", "planned"]
    failed = given(*story, c.Stop(), done("1.1", ok=False)).when(c.Retry()).then("session.retried")
    assert ended(failed.event) == [("1.2", "dependency_failed"), ("1.3", "dependency_failed")]


def test_an_action_left_in_doubt_ends_what_depends_on_it() -> None:
    story = (FREE, turn(act("1.1", effect="write"), act("1.2", "1.1")), c.Start())
    told = (
        given(*story, c.Uncertain(action_id="1.1", reason="?")).when(say(LEAVE)).then("question.answered", key="leave")
    )
    assert ended(told.event) == [("1.2", "dependency_failed")]


def test_another_request_and_another_turn_take_the_place_of_what_has_not_begun() -> None:
    waits = given(FREE, turn(act("1.1", ask="a write")))
    assert ended(waits.when(feedback("something else")).then("message.received").event) == [("1.1", "superseded")]
    late = given(FREE, say("and tea"), turn(act("1.1")))
    assert late.session.turn is None
    planned = given(FREE, say("and tea")).when(turn(act("1.1"))).then("turn.planned")
    assert ended(planned.event) == [("1.1", "superseded")], "planned without what was said: it is not run"


def test_a_plan_that_is_given_up_ends_its_actions() -> None:
    path = PathPlan(nodes=("orders",))
    steps = c.DraftPlan(goal="g", steps=({"text": "look", "tool": "orders"},), kind="path", path=path)
    told = given(request("flow"), steps, c.Approve(version=2)).when(c.CancelPlan()).then("plan.cancelled")
    assert ended(told.event) == [("1.1", "cancelled")]


def test_an_event_that_ends_nothing_stores_no_list_of_it() -> None:
    approved = given(FREE, turn(act("1.1", ask="a write"))).when(allow("1.1")).then_event()
    assert b"ended" not in dump_event(approved)
    assert b"ended" not in dump_event(given(*VERIFYING).when(c.Stop()).then_event())


def test_a_program_can_complete_an_event_that_it_has_built_itself() -> None:
    started = given(FREE, turn(*CHAIN), c.Start()).session
    own = facts.ActionsFinished(
        id="mine",
        session_id="s1",
        version=started.version + 1,
        at="2030-01-01T12:00:00Z",
        actor="x",
        outcomes=(Outcome(action_id="1.1", ok=False),),
    )
    after = evolve(started, complete(started, own))
    assert isinstance(after, Session)
    Given(after).when(c.VerifyTurn(status="failure", next_action="complete")).then("turn.verified")
