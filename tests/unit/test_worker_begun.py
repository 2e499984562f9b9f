"""A message and what it follows are all a worker needs of a session, where the broker's guard vouches for them."""

from datetime import UTC, datetime, timedelta

import pytest

from parley.events import dump_event
from shared.bus import Delivery, Park
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.log import EXPECTED, EXPECTED_SUBJECT, SessionAtPosition, guard, subject_of
from shared.settings import Settings
from shared.store import StoreRefused
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, Worker, WorkerDeps
from shared.worker.worker import _before, _begun, _with


def first(session_id: str = "s", after: int = 0) -> Delivery:
    event = decide(Session("s"), c.Say(text="Hello"), CommandMeta("user:ann", datetime.now(UTC), "say"))
    headers = guard(session_id, after, event.id)
    return Delivery(
        subject_of(event, due(evolve(Session("s"), event))),
        dump_event(event),
        9,
        1,
        headers,
        datetime.now(UTC),
    )


def test_it_is_the_session() -> None:
    loaded = _begun(first())
    assert loaded is not None
    assert (loaded.position, loaded.session.version, loaded.session.words.request) == (9, 1, "Hello")
    assert loaded.session.work is not None


def test_whoever_cannot_be_sure_asks() -> None:
    assert _begun(first(after=4)) is None
    assert _begun(first(session_id="other")) is None
    assert _begun(first()._replace(headers={})) is None
    assert _begun(first()._replace(data=b"{}")) is None


class Refusing(InMemoryStore):
    """Has an answer that is larger than a message."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        raise StoreRefused("too_large", "The answer has 9 bytes. Ask for less.")


async def test_a_session_that_cannot_be_loaded_is_given_up_at_once() -> None:
    """The dead letter fails it; otherwise it would be delivered again and again."""
    log = InMemoryLog()
    kit = WorkerDeps("planner", Refusing(log), log, ScriptedModel(), Drafts(None), Settings())
    with pytest.raises(Park, match="cannot be loaded: The answer has 9 bytes"):
        await Worker(kit, never).on_delivery(first()._replace(deliveries=2))


async def never(_: WorkContext) -> None:
    raise AssertionError("there is no session to look at")


async def test_a_first_message_that_waited_long_is_not_worked_on_when_the_session_was_stopped_meanwhile() -> None:
    log = InMemoryLog()
    story = Story("s", log=log)
    await story.commit(c.Say(text="Hello"), c.Stop())
    raw, asked = log.messages[0], []

    async def ask(context: WorkContext) -> None:
        asked.append(context.session.phase)

    kit = WorkerDeps("planner", InMemoryStore(log), log, ScriptedModel(), Drafts(None), Settings(nats_replicas=1))
    old = raw.at - timedelta(minutes=1)
    await Worker(kit, ask).on_delivery(Delivery(raw.subject, raw.data, raw.position, 1, raw.headers, old))
    assert asked == []


def second(after: int) -> tuple[SessionAtPosition, Delivery]:
    """The session at position 9, and the message that follows what was at `after`."""
    loaded = _begun(first())
    assert loaded is not None
    event = decide(loaded.session, c.Rename(title="Other"), CommandMeta("user:ann", datetime.now(UTC), "rename"))
    subject = subject_of(event, due(evolve(loaded.session, event)))
    return loaded, Delivery(subject, dump_event(event), 12, 1, guard("s", after, event.id), datetime.now(UTC))


def test_a_message_is_put_on_top_of_what_it_follows() -> None:
    loaded, delivery = second(after=9)
    assert _before(delivery) == 9
    after = _with(loaded, delivery)
    assert after is not None
    assert (after.position, after.session.version, after.session.title) == (12, 2, "Other")
    assert _with(after, delivery) is after


def test_where_something_lies_between_the_store_is_asked() -> None:
    loaded, delivery = second(after=11)
    assert _before(delivery) == 11
    assert _with(loaded, delivery) is None


def test_a_guard_that_proves_nothing_is_none() -> None:
    _, delivery = second(after=9)
    assert _before(delivery._replace(headers={})) == 0
    assert _before(delivery._replace(headers=dict(delivery.headers) | {EXPECTED: "many"})) == 0
    assert _before(delivery._replace(headers=dict(delivery.headers) | {EXPECTED_SUBJECT: "session.s.*"})) == 0
