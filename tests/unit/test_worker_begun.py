"""Of a session's first message a worker needs nothing but the message, where the broker's guard vouches for that."""

from datetime import UTC, datetime

from shared.bus import Delivery
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.events import dump_event
from shared.log import guard, subject_of
from shared.worker.worker import _begun


def first(session_id: str = "s", after: int = 0, deliveries: int = 1) -> Delivery:
    event = decide(Session("s"), c.Say(text="Hello"), By("user:ann", datetime.now(UTC), "say"))
    headers = guard(session_id, after, event.id)
    return Delivery(
        subject_of(event, due(evolve(Session("s"), event))),
        dump_event(event),
        9,
        deliveries,
        headers,
        datetime.now(UTC),
    )


def test_it_is_the_session() -> None:
    loaded = _begun(first())
    assert loaded is not None
    assert (loaded.position, loaded.session.version, loaded.session.request) == (9, 1, "Hello")
    assert loaded.session.work is not None


def test_whoever_has_had_it_before_or_cannot_be_sure_asks() -> None:
    assert _begun(first(deliveries=2)) is None
    assert _begun(first(after=4)) is None
    assert _begun(first(session_id="other")) is None
    assert _begun(first()._replace(headers={})) is None
    assert _begun(first()._replace(data=b"{}")) is None


def test_a_fork_is_more_than_its_first_message() -> None:
    forked = decide(Session("s"), c.Fork(parent="p", parent_version=1), By("user:ann", datetime.now(UTC), "fork"))
    assert _begun(first()._replace(data=dump_event(forked))) is None
