"""A message and what it follows are all a worker needs of a session, where the broker's guard vouches for them."""

from datetime import UTC, datetime, timedelta

import pytest

from parley.events import dump_event
from shared.bus import Delivery, Unprocessable
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, SessionAtPosition, guard_headers, subject_of
from shared.settings import Settings
from shared.store import StoreRefused
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, Worker, WorkerDeps
from shared.worker.worker import _from_first_message, _previous_position, _with_delivery


def first(session_id: str = "s", after: int = 0) -> Delivery:
    event = decide(Session("s"), c.Say(text="Hello"), CommandMeta("user:ann", datetime.now(UTC), "say"))
    headers = guard_headers(session_id, after, event.id)
    return Delivery(
        subject_of(event, due(evolve(Session("s"), event))),
        dump_event(event),
        9,
        1,
        headers,
        datetime.now(UTC),
    )


def test_a_first_message_alone_gives_the_session() -> None:
    loaded = _from_first_message(first())
    assert loaded is not None
    assert (loaded.position, loaded.session.version, loaded.session.words.request) == (9, 1, "Hello")
    assert loaded.session.work is not None


def test_other_messages_load_the_session_from_the_store() -> None:
    assert _from_first_message(first(after=4)) is None
    assert _from_first_message(first(session_id="other")) is None
    assert _from_first_message(first()._replace(headers={})) is None
    assert _from_first_message(first()._replace(data=b"{}")) is None


class Refusing(InMemoryStore):
    """Has an answer that is larger than a message."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        raise StoreRefused("too_large", "The answer has 9 bytes. Ask for less.")


async def test_a_session_that_cannot_be_loaded_is_unprocessable() -> None:
    """The dead letter fails it; otherwise it would be delivered again and again."""
    log = InMemoryLog()
    deps = WorkerDeps("planner", Refusing(log), log, ScriptedModel(), Drafts(None), Settings())
    with pytest.raises(Unprocessable, match="cannot be loaded: The answer has 9 bytes"):
        await Worker(deps, never).on_delivery(first()._replace(deliveries=2))


async def never(_: WorkContext) -> None:
    raise AssertionError("there is no session to look at")


async def test_a_late_first_message_of_a_stopped_session_is_not_worked_on() -> None:
    log = InMemoryLog()
    story = Story("s", log=log)
    await story.commit(c.Say(text="Hello"), c.Stop())
    raw, asked = log.messages[0], []

    async def ask(context: WorkContext) -> None:
        asked.append(context.session.phase)

    deps = WorkerDeps("planner", InMemoryStore(log), log, ScriptedModel(), Drafts(None), Settings(nats_replicas=1))
    old = raw.at - timedelta(minutes=1)
    await Worker(deps, ask).on_delivery(Delivery(raw.subject, raw.data, raw.position, 1, raw.headers, old))
    assert asked == []


def second(after: int) -> tuple[SessionAtPosition, Delivery]:
    """The session at position 9, and the message that follows what was at `after`."""
    loaded = _from_first_message(first())
    assert loaded is not None
    event = decide(loaded.session, c.Rename(title="Other"), CommandMeta("user:ann", datetime.now(UTC), "rename"))
    subject = subject_of(event, due(evolve(loaded.session, event)))
    return loaded, Delivery(subject, dump_event(event), 12, 1, guard_headers("s", after, event.id), datetime.now(UTC))


def test_a_message_is_applied_to_the_state_that_it_follows() -> None:
    loaded, delivery = second(after=9)
    assert _previous_position(delivery) == 9
    after = _with_delivery(loaded, delivery)
    assert after is not None
    assert (after.position, after.session.version, after.session.title) == (12, 2, "Other")
    assert _with_delivery(after, delivery) is after


def test_a_gap_between_state_and_message_loads_from_the_store() -> None:
    loaded, delivery = second(after=11)
    assert _previous_position(delivery) == 11
    assert _with_delivery(loaded, delivery) is None


def test_a_guard_without_proof_is_ignored() -> None:
    _, delivery = second(after=9)
    assert _previous_position(delivery._replace(headers={})) == 0
    assert _previous_position(delivery._replace(headers=dict(delivery.headers) | {EXPECTED_SEQUENCE: "many"})) == 0
    assert (
        _previous_position(
            delivery._replace(headers=dict(delivery.headers) | {EXPECTED_SEQUENCE_SUBJECT: "session.s.*"})
        )
        == 0
    )
