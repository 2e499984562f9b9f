"""A screen of protocol 2: whoever hears each event shows what whoever comes later is told at once."""

import json
from collections.abc import Iterator
from itertools import islice

import pytest

from parley.client.screen import Screen
from parley.events import SessionEvent
from parley.protocol.screen import SCREEN_MESSAGES, ScreenEvent, ScreenSnapshot
from services.gateway.views import screen
from services.gateway.views.can import accepted
from shared.domain.session import Session
from shared.log import SessionAtPosition, accept
from tests.logs.recorded import Recorded, load, load_random, names

type Transition = tuple[Session, SessionEvent, Session]


def transitions(recorded: Recorded) -> Iterator[Transition]:
    loaded = SessionAtPosition(Session(recorded.session_id), 0)
    for raw in recorded.messages:
        after, event, _ = accept(loaded, raw)
        if event:
            yield loaded.session, event, after.session
        loaded = after


def sent[M: ScreenEvent | ScreenSnapshot](message: M) -> M:
    """The message after its way over the wire."""
    read = SCREEN_MESSAGES.validate_json(message.model_dump_json(by_alias=True))
    assert isinstance(read, type(message))
    return read


def follows(told: Iterator[Transition]) -> int:
    """Hear each event, and compare with a newcomer's snapshot after each. How many events there were."""
    screened, history = Screen(), list[SessionEvent]()
    for before, event, after in told:
        screened.take(sent(screen.happened(before, event, after)))
        history.append(event)
        newcomer = Screen()
        newcomer.take(sent(screen.snapshot(after)))
        assert screened.view == newcomer.view, event.type
        assert screened.can == newcomer.can, event.type
    later = Screen()
    for event in history:
        later.take(sent(screen.told_again(event)))
    assert list(screened.journal.items()) == list(later.journal.items())
    return len(history)


@pytest.mark.parametrize("name", names())
def test_each_event_of_a_recorded_session_gives_the_screen_of_a_newcomer(name: str) -> None:
    assert follows(transitions(load(name))) > 1


def test_each_event_of_a_random_session_does_too() -> None:
    assert sum(follows(transitions(recorded)) for recorded in islice(load_random(), 0, None, 10)) > 500


def test_every_change_of_an_entry_finds_its_entry() -> None:
    for name in names():
        known: set[str] = set()
        for before, event, after in transitions(load(name)):
            for entry in screen.happened(before, event, after).entries:
                if entry.kind == "update":
                    assert entry.key in known, (name, event.type, entry.key)
                known.add(entry.key)


def test_a_result_and_a_program_travel_once() -> None:
    for name in names():
        for before, event, after in transitions(load(name)):
            told = json.loads(screen.happened(before, event, after).model_dump_json(by_alias=True))
            for outcome in told["event"].get("outcomes", ()):
                body = json.dumps(outcome["result"])
                if len(body) > 300:
                    assert body not in json.dumps(told["entries"]) + json.dumps(told["changed"]), (name, event.type)


def test_what_is_in_review_is_discarded_and_not_stopped() -> None:
    seen = [(after, screen.can(after, writes=True)) for _, _, after in transitions(load("conversation"))]
    reviews = [can for after, can in seen if after.phase == "awaiting_approval"]
    assert len(reviews) > 1
    assert all("stop" not in can for can in reviews)
    assert any("cancel" in can for can in reviews)
    assert all("stop" in accepted(after) for after, _ in seen if after.phase == "awaiting_approval")  # of protocol 1
    assert all("stop" in can for after, can in seen if after.work is not None)


def test_who_may_only_look_is_offered_no_more() -> None:
    before, event, after = next(transitions(load("conversation")))
    assert "stop" in (screen.happened(before, event, after).can or ())
    assert screen.snapshot(after, writes=False).can in ((), ("fork",))
