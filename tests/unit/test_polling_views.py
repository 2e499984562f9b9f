"""What people are told of steps that poll, of questions that nobody answered, and of budgets for work."""

from datetime import timedelta
from typing import Any

from cli.gist import gist as tail
from parley.events import SessionEvent
from parley.events.values import SessionSettings, Step, Waiting
from parley.protocol.journal import EntryUpdate
from services.gateway.views.execution_plan import execution_plan
from services.gateway.views.messages import usage
from services.gateway.views.notes import note
from services.gateway.views.outcomes import outcomes
from services.gateway.views.sections import changed, whole
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide
from shared.domain.evolve import evolve
from shared.domain.session import Session
from tests.unit.domain.spec import NOON, approve, given

END = NOON + timedelta(hours=1)
STEPS = (
    Step(text="Wait for it", tool="poll_until", id="s1", effect="read", waits_for="condition"),
    Step(text="Ask", tool="ask_person", id="s2", effect="read", waits_for="person"),
)


def begun() -> Session:
    limits = SessionSettings(call_budget=10, time_budget=600, approval_timeout=60)
    say = c.Say(text="x", workflow="execution_plan", settings=limits)
    wait = c.Wait(actions=(Waiting(action_id="t2.s1", until=END, every=60),))
    return given(say, c.DraftPlan(goal="Wait", steps=STEPS, kind="execution"), approve, wait).session


def kept(session: Session, command: c.RecordLook | c.Expire, **at: Any) -> tuple[SessionEvent, Session]:
    event = decide(session, command, CommandMeta("keeper", at.get("at", NOON)))
    return event, evolve(session, event)


def poll(session: Session, looks: int, **told: Any) -> tuple[SessionEvent, Session]:
    at = {"at": told.pop("at")} if "at" in told else {}
    return kept(session, c.RecordLook(action_id="t2.s1", looks=looks, **told), **at)


def told(event: SessionEvent, action: str = "t2.s1") -> dict[str, Any]:
    """What the journal's line of the action becomes."""
    (update,) = [one for one in outcomes(event) if isinstance(one, EntryUpdate) and one.key == f"action:{action}"]
    return {name: update.set[name] for name in ("state", "gist")}


def test_the_journal_says_what_a_step_sees_and_what_it_came_to() -> None:
    session = begun()
    first, seen = poll(session, 1, value={"status": "new"})
    assert told(first) == {"state": "waiting", "gist": "checked once: status: new"}
    failed, after = poll(seen, 4, error="it is away")
    assert told(failed) == {"state": "waiting", "gist": "checked 4 times: the last check failed: it is away"}
    met, _ = poll(after, 5, value={"status": "sent"}, met=True)
    assert told(met) == {"state": "finished", "gist": "the condition is met, checked 5 times: status: sent"}
    over, _ = poll(after, 60, value={"status": "new"}, at=END)
    assert told(over) == {"state": "failed", "gist": "gave up after 60 checks: the condition was not met"}
    assert [tail(one).count("t2.s1") for one in (first, failed, met, over)] == [1] * 4


def test_the_screen_has_how_a_step_polls_and_changes_with_it_alone() -> None:
    session = begun()
    before = whole(session)
    assert before.steps["s1"].word == "checks every 60 s"
    _, after = poll(session, 3, value={"status": "new"})
    sections = changed(session, after)
    assert sections["steps"]["s1"]["word"] == "checks every 60 s, last change at check 3"
    view = sections["actions"]["t2.s1"]["poll"]
    assert (view["looks"], view["value"], view["every"], view["error"]) == (3, {"status": "new"}, 60, "")
    assert whole(after).steps["s1"].until == END
    assert sections.keys() == {"steps", "actions", "usage"}


def test_rest_and_the_terminal_print_it() -> None:
    _, after = poll(begun(), 3, error="it is away")
    plan = execution_plan(after)
    assert plan.steps[0].poll
    assert plan.steps[0].poll.next_look == NOON + timedelta(seconds=60)
    assert "checks every 60 s, last change at check 3: the last check failed: it is away" in plan.text
    _, met = poll(after, 4, value=1, met=True)
    done = execution_plan(met).steps[0]
    assert (done.status, done.output) == ("finished", 1)


def test_a_question_that_nobody_answered_is_told() -> None:
    session = given(c.Ask(text="?", about="action", action_id="t2.s2"), begin=begun()).session
    event, _ = kept(session, c.Expire(requested_version=session.since_version))
    assert told(event, "t2.s2") == {"state": "failed", "gist": "nobody answered in time"}
    assert told(event)["state"] == "skipped", "what else was waited for is halted"
    line = note(event)
    assert line
    assert (line.text, line.tone) == ("Nobody answered in time", "bad")
    assert "nobody answered t2.s2 in time" in tail(event)


def test_what_a_budget_limits_is_told_and_nothing_else() -> None:
    _, after = poll(begun(), 7, value=1)
    spent = usage(after)
    assert (spent.tool_calls, spent.call_budget, spent.time_budget) == (7, 10, 600)
    free = usage(given(c.Say(text="x")).session)
    assert "tool_calls" not in free.model_dump()
    raised = given(c.RaiseBudget(calls=1_000), begin=after)
    assert raised.session.settings.call_budget == 1_010
