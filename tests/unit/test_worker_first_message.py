"""A worker takes a session's state from a message, without a load, if the message's guard proves what it follows."""

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


def first_message(session_id: str = "s", after: int = 0) -> Delivery:
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


def test_the_first_message_of_a_session_needs_no_load() -> None:
    loaded = _from_first_message(first_message())
    assert loaded is not None
    assert (loaded.position, loaded.session.version, loaded.session.words.request) == (9, 1, "Hello")
    assert loaded.session.work is not None


def test_messages_that_are_not_a_guarded_first_one_need_a_load() -> None:
    assert _from_first_message(first_message(after=4)) is None
    assert _from_first_message(first_message(session_id="other")) is None
    assert _from_first_message(first_message()._replace(headers={})) is None
    assert _from_first_message(first_message()._replace(data=b"{}")) is None


class RefusingStore(InMemoryStore):
    """Refuses each load, because the answer would be larger than a message."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        raise StoreRefused("too_large", "The answer has 9 bytes. Ask for less.")


async def test_a_session_that_cannot_be_loaded_is_unprocessable() -> None:
    """The dead letter fails the session. Otherwise the broker would redeliver the message forever."""
    log = InMemoryLog()
    deps = WorkerDeps("planner", RefusingStore(log), log, ScriptedModel(), Drafts(None), Settings())
    with pytest.raises(Unprocessable, match="cannot be loaded: The answer has 9 bytes"):
        await Worker(deps, fail).on_delivery(first_message()._replace(deliveries=2))


async def fail(_: WorkContext) -> None:
    raise AssertionError("there is no session to look at")


@pytest.mark.parametrize("age", [60, 2, -60])
async def test_a_late_first_message_of_a_stopped_session_is_not_worked_on(age: float) -> None:
    """A negative age is one by a clock that is behind the broker's."""
    log = InMemoryLog()
    story = Story("s", log=log)
    await story.commit(c.Say(text="Hello"), c.Stop())
    message, phases = log.messages[0], []

    async def work(context: WorkContext) -> None:
        phases.append(context.session.phase)

    deps = WorkerDeps("planner", InMemoryStore(log), log, ScriptedModel(), Drafts(None), Settings(nats_replicas=1))
    sent = datetime.now(UTC) - timedelta(seconds=age)
    await Worker(deps, work).on_delivery(
        Delivery(message.subject, message.data, message.position, 1, message.headers, sent)
    )
    assert phases == []


def second_message(after: int) -> tuple[SessionAtPosition, Delivery]:
    """The session at position 9, and a message whose guard says that it follows position `after`."""
    loaded = _from_first_message(first_message())
    assert loaded is not None
    event = decide(loaded.session, c.Rename(title="Other"), CommandMeta("user:ann", datetime.now(UTC), "rename"))
    subject = subject_of(event, due(evolve(loaded.session, event)))
    return loaded, Delivery(subject, dump_event(event), 12, 1, guard_headers("s", after, event.id), datetime.now(UTC))


def test_a_message_is_applied_to_the_state_that_it_follows() -> None:
    loaded, delivery = second_message(after=9)
    assert _previous_position(delivery) == 9
    after = _with_delivery(loaded, delivery)
    assert after is not None
    assert (after.position, after.session.version, after.session.title) == (12, 2, "Other")
    assert _with_delivery(after, delivery) is after


def test_a_gap_between_state_and_message_needs_a_load() -> None:
    loaded, delivery = second_message(after=11)
    assert _previous_position(delivery) == 11
    assert _with_delivery(loaded, delivery) is None


def test_missing_or_invalid_guards_prove_no_position() -> None:
    _, delivery = second_message(after=9)
    assert _previous_position(delivery._replace(headers={})) == 0
    assert _previous_position(delivery._replace(headers=dict(delivery.headers) | {EXPECTED_SEQUENCE: "many"})) == 0
    assert (
        _previous_position(
            delivery._replace(headers=dict(delivery.headers) | {EXPECTED_SEQUENCE_SUBJECT: "session.s.*"})
        )
        == 0
    )
