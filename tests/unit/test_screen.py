"""Protocol 2: applying every event gives the same screen as a later snapshot."""

import json
from collections.abc import Iterator
from itertools import islice

import pytest

from parley.client.screen import Screen
from parley.events import SessionEvent, facts
from parley.protocol.screen import SCREEN_MESSAGES, ScreenEvent, ScreenSnapshot
from services.gateway.views import screen_messages
from shared.domain.kernel.session import Session
from shared.journal.entries import entries
from shared.log import SessionAtPosition, accept
from tests.logs.recorded import RecordedLog, load, load_random, names

type Transition = tuple[Session, SessionEvent, Session]


def transitions(recorded: RecordedLog) -> Iterator[Transition]:
    loaded = SessionAtPosition(Session(recorded.session_id), 0)
    for raw in recorded.messages:
        after, event, _ = accept(loaded, raw)
        if event:
            yield loaded.session, event, after.session
        loaded = after


def serialized[M: ScreenEvent | ScreenSnapshot](message: M) -> M:
    """The message as a client reads it."""
    read = SCREEN_MESSAGES.validate_json(message.model_dump_json(by_alias=True))
    assert isinstance(read, type(message))
    return read


def compare_screens(transitions: Iterator[Transition]) -> int:
    """Apply each event, and compare with a new snapshot after each. Returns the number of events."""
    screen, history = Screen(), list[SessionEvent]()
    for before, event, after in transitions:
        screen.take(serialized(screen_messages.event_message(before, event, after)))
        history.append(event)
        fresh_screen = Screen()
        fresh_screen.take(serialized(screen_messages.snapshot(after)))
        assert screen.view == fresh_screen.view, event.type
        assert screen.can == fresh_screen.can, event.type
    history_screen = Screen()
    for event in history:
        history_screen.take(serialized(screen_messages.history_message(event)))
    assert list(screen.journal.items()) == list(history_screen.journal.items())
    return len(history)


@pytest.mark.parametrize("name", names())
def test_events_of_recorded_sessions_lead_to_the_same_screen_as_a_snapshot(name: str) -> None:
    assert compare_screens(transitions(load(name))) > 1


def test_events_of_random_sessions_lead_to_the_same_screen_as_a_snapshot() -> None:
    assert sum(compare_screens(transitions(recorded)) for recorded in islice(load_random(), 0, None, 10)) > 500


def test_every_entry_update_finds_its_entry() -> None:
    for name in names():
        known: set[str] = set()
        for before, event, after in transitions(load(name)):
            for entry in screen_messages.event_message(before, event, after).entries:
                if entry.kind == "update":
                    assert entry.key in known, (name, event.type, entry.key)
                known.add(entry.key)


def test_an_event_has_at_most_one_line_about_what_its_actor_did() -> None:
    for name in names():
        for _, event, _ in transitions(load(name)):
            lines = [entry.text for entry in entries(event) if entry.kind in ("note", "decision")]
            assert len(list(filter(None, lines))) <= 1, (name, event.type, lines)


def test_results_and_programs_are_sent_once() -> None:
    large = 0
    for name in names():
        for before, event, after in transitions(load(name)):
            message = screen_messages.event_message(before, event, after).model_dump_json(by_alias=True)
            sent = json.dumps(json.loads(message))
            for outcome in event.outcomes if isinstance(event, facts.ActionsFinished) else ():
                body = json.dumps(outcome.result)
                if len(body) > 300:
                    large += 1
                    assert sent.count(body) == 1, (name, event.type)
    assert large
