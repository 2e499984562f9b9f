"""A message and what it follows are all a worker needs of a session, where the broker's guard vouches for them."""

from datetime import UTC, datetime

from shared.bus import Delivery
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.events import dump_event
from shared.log import EXPECTED, EXPECTED_SUBJECT, Loaded, guard, subject_of
from shared.worker.worker import _before, _begun, _with


def first(session_id: str = "s", after: int = 0) -> Delivery:
    event = decide(Session("s"), c.Say(text="Hello"), By("user:ann", datetime.now(UTC), "say"))
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
    assert (loaded.position, loaded.session.version, loaded.session.request) == (9, 1, "Hello")
    assert loaded.session.work is not None


def test_whoever_cannot_be_sure_asks() -> None:
    assert _begun(first(after=4)) is None
    assert _begun(first(session_id="other")) is None
    assert _begun(first()._replace(headers={})) is None
    assert _begun(first()._replace(data=b"{}")) is None


def test_a_fork_is_more_than_its_first_message() -> None:
    forked = decide(Session("s"), c.Fork(parent="p", parent_version=1), By("user:ann", datetime.now(UTC), "fork"))
    assert _begun(first()._replace(data=dump_event(forked))) is None


def second(after: int) -> tuple[Loaded, Delivery]:
    """The session at position 9, and the message that follows what was at `after`."""
    loaded = _begun(first())
    assert loaded is not None
    event = decide(loaded.session, c.Rename(title="Other"), By("user:ann", datetime.now(UTC), "rename"))
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
