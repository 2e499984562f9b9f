"""The journal's lines about an event, as `parley tail` prints them."""

from itertools import chain

from parley.events import EVENT_CLASSES, parse_event
from parley.events.values import ActionSpec
from shared.domain.kernel import commands as c
from shared.domain.rules.decide import AnyCommand
from shared.journal.lines import event_lines
from shared.story import finish_action
from tests.logs.recorded import load, load_random, names
from tests.unit.domain.spec import given

WRITE = ActionSpec(id="1.1", tool="pay", effect="write", approval_reason="it changes something")
SILENT = {"usage.recorded"}  # says nothing to people: its tokens are counted elsewhere
LOOK = c.PlanTurn(sub_goal="Look", actions=(ActionSpec(id="1.1", tool="look"),), say="I look.")


def lines(*commands: AnyCommand) -> list[str]:
    """The lines about the newest event."""
    *before, last = commands
    event = given(c.Say(text="Pay", workflow="agentflow"), *before).when(last).then_event()
    return list(event_lines(event))


def test_every_type_of_event_has_words() -> None:
    """A new type's words: in NOTES under its type, or an entry of its own (shared/journal/entries.py)."""
    recorded = chain(map(load, names()), load_random())
    events = (parse_event(message.data) for log in recorded for message in log.messages)
    assert {event.type for event in events if any(event_lines(event))} == {
        kind.type_name() for kind in EVENT_CLASSES
    } - SILENT


def test_an_event_is_described_with_all_that_it_adds() -> None:
    assert lines(LOOK) == ["I look.", "Turn 1: Look", "1.1 look · waits for its turn"]
    pay = c.PlanTurn(sub_goal="Pay", actions=(WRITE,))
    assert lines(pay) == ["Turn 1: Pay", "1.1 pay · Needs your approval: changes data"]


def test_a_change_of_an_earlier_entry_names_what_it_changes() -> None:
    assert lines(LOOK, c.Start()) == ["1.1 · running"]
    failed = finish_action(ok=False, error="it is away", seconds=0.25)
    assert lines(LOOK, c.Start(), failed) == ["1.1 · 0.2 s · failed: it is away"]
    verdict = c.VerifyTurn(status="failure", next_action="retry", reasoning="Once more.")
    assert lines(LOOK, c.Start(), failed, verdict) == ["failed, tries again: Once more."]
