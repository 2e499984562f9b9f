"""How the journal, the page, REST and the terminal show polling steps, expired questions and budgets."""

from datetime import timedelta
from typing import Any

from parley.events import SessionEvent
from parley.events.values import SessionSettings, Step, Waiting
from parley.protocol.journal import EntryUpdate
from services.gateway.views.execution_plan import execution_plan
from services.gateway.views.sections import changed_sections, full_view
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide
from shared.journal.action_updates import action_updates
from tests.unit.domain.spec import NOON, approve, given

END = NOON + timedelta(hours=1)
STEPS = (
    Step(text="Wait for it", tool="poll_until", id="s1", effect="read", waits_for="condition"),
    Step(text="Ask", tool="ask_person", id="s2", effect="read", waits_for="person"),
)


def polling_session() -> Session:
    limits = SessionSettings(call_budget=10, time_budget=600, approval_timeout=60)
    say = c.Say(text="x", workflow="execution_plan", settings=limits)
    wait = c.Wait(actions=(Waiting(action_id="t2.s1", until=END, every=60),))
    return given(say, c.DraftPlan(goal="Wait", steps=STEPS, kind="execution"), approve, wait).session


def apply_at(session: Session, command: c.RecordPoll | c.Expire, **at: Any) -> tuple[SessionEvent, Session]:
    """The event of a command by the keeper, and the session after it. `at`: the time, noon by default."""
    event = decide(session, command, CommandMeta("keeper", at.get("at", NOON)))
    return event, evolve(session, event)


def poll(session: Session, polls: int, **fields: Any) -> tuple[SessionEvent, Session]:
    at = {"at": fields.pop("at")} if "at" in fields else {}
    return apply_at(session, c.RecordPoll(action_id="t2.s1", polls=polls, **fields), **at)


def entry_fields(event: SessionEvent, action: str = "t2.s1") -> dict[str, Any]:
    """The state and gist that the event gives the action's journal entry."""
    (update,) = [
        item for item in action_updates(event) if isinstance(item, EntryUpdate) and item.key == f"action:{action}"
    ]
    return {name: update.set[name] for name in ("state", "gist")}


def test_the_journal_shows_a_polling_steps_values_and_outcome() -> None:
    session = polling_session()
    first, polled = poll(session, 1, value={"status": "new"})
    assert entry_fields(first) == {"state": "waiting", "gist": "checked once: status: new"}
    failed, after = poll(polled, 4, error="it is away")
    assert entry_fields(failed) == {"state": "waiting", "gist": "checked 4 times: the last check failed: it is away"}
    met, _ = poll(after, 5, value={"status": "sent"}, met=True)
    assert entry_fields(met) == {"state": "finished", "gist": "the condition is met, checked 5 times: status: sent"}
    timed_out, _ = poll(after, 60, value={"status": "new"}, at=END)
    assert entry_fields(timed_out) == {"state": "failed", "gist": "gave up after 60 checks: the condition was not met"}


def test_the_page_shows_a_polling_step_and_a_poll_changes_only_its_sections() -> None:
    session = polling_session()
    before = full_view(session)
    assert before.steps["s1"].word == "checks every 60 s"
    _, after = poll(session, 3, value={"status": "new"})
    sections = changed_sections(session, after)
    assert sections["steps"]["s1"]["word"] == "checks every 60 s, last change at check 3"
    view = sections["actions"]["t2.s1"]["poll"]
    assert (view["polls"], view["value"], view["every"], view["error"]) == (3, {"status": "new"}, 60, "")
    assert full_view(after).steps["s1"].until == END
    assert sections.keys() == {"steps", "actions", "usage"}


def test_rest_and_the_terminal_show_a_polling_step() -> None:
    _, after = poll(polling_session(), 3, error="it is away")
    plan = execution_plan(after)
    assert plan.steps[0].poll
    assert plan.steps[0].poll.next_poll == NOON + timedelta(seconds=60)
    assert "checks every 60 s, last change at check 3: the last check failed: it is away" in plan.text
    _, met = poll(after, 4, value=1, met=True)
    done = execution_plan(met).steps[0]
    assert (done.status, done.output) == ("finished", 1)
