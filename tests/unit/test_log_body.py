"""The log's last check before an append: the event can be parsed again, and is not too large."""

import pytest
from pydantic import JsonValue

from parley.events import SessionEvent, facts, parse_event
from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide
from shared.log import EventTooLarge, SessionAtPosition, Unstorable, body_of, commit
from shared.store_api import JournalPage
from shared.testing import InMemoryLog, InMemoryStore
from tests.conftest import person


def _nested(depth: int) -> dict[str, JsonValue]:
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return {"a": value}


def _step(arguments: dict[str, JsonValue]) -> Step:
    return Step(text="one", tool="t", arguments=arguments)


UNREADABLE = {
    "deep": _step(_nested(250)),
    "deep on a page": _step(_nested(190)),  # the event can be parsed, but a page of events that contains it cannot
    "invalid": Step.model_construct(text="", tool=None),
}


@pytest.mark.parametrize("step", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_event_that_could_not_be_parsed_is_not_appended(step: Step) -> None:
    log = InMemoryLog()
    loaded, _ = await commit(log, SessionAtPosition(Session("s"), 0), c.Say(text="A calculator"), person())
    planner = person()._replace(actor="planner", id=None, work=loaded.session.work)
    with pytest.raises(Unstorable, match="could not be read again"):
        await commit(log, loaded, c.DraftPlan(goal="g", steps=(step,)), planner)
    assert (await InMemoryStore(log).load("s")).session.version == 1
    loaded, event = await commit(log, loaded, c.DraftPlan(goal="g", steps=(_step(_nested(60)),)), planner)
    page = JournalPage(events=(event,), version=2)
    assert JournalPage.model_validate_json(page.model_dump_json(by_alias=True)) == page


def message(text: str) -> SessionEvent:
    return decide(Session("s"), c.Say(text=text), person())


def test_an_appended_event_is_read_back_unchanged() -> None:
    event = message("A calculator")
    assert parse_event(body_of(event)) == event


def test_an_event_that_is_too_large_has_its_own_error() -> None:
    event = message("A calculator")
    assert isinstance(event, facts.MessageReceived)
    with pytest.raises(EventTooLarge, match="262144 are allowed"):
        body_of(event.model_copy(update={"text": "x" * 300_000}))
