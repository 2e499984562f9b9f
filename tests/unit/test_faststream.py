"""A service's subscribers on FastStream's test broker: no server, no acknowledgements."""

from collections.abc import Callable

import pytest
from faststream.nats import TestNatsBroker

from shared.bus import Bus, Delivery
from shared.bus.broker import Broker
from shared.settings import Settings
from tests.support.inbox import Inbox

SUBJECT = "session.a.planner.message.received"


@pytest.fixture
def broker_of() -> Callable[[str], Broker]:
    return lambda name: Bus(Settings(), name).broker


async def test_a_durable_subscriber_gets_what_is_published_on_its_subjects(broker_of: Callable[[str], Broker]) -> None:
    broker, inbox = broker_of("planner"), Inbox()
    broker.subscriber(durable="planner")(inbox)
    async with TestNatsBroker(broker):
        await broker.publish(b"work", SUBJECT, stream="SESSIONS", headers={"Nats-Msg-Id": "e"})
        await broker.publish(b"not mine", "session.a.user.plan.drafted", stream="SESSIONS")
    (delivery,) = inbox.got
    assert (delivery.subject, delivery.data, delivery.deliveries) == (SUBJECT, b"work", 1)
    assert delivery.headers["Nats-Msg-Id"] == "e"


async def test_a_handlers_exception_reaches_the_test(broker_of: Callable[[str], Broker]) -> None:
    broker = broker_of("planner")

    @broker.subscriber(durable="planner")
    async def fails(_: Delivery) -> None:
        raise ValueError("not today")

    async with TestNatsBroker(broker):
        with pytest.raises(ValueError, match="not today"):
            await broker.publish(b"work", SUBJECT, stream="SESSIONS")


def test_subscribing_to_an_unknown_consumer_is_refused(broker_of: Callable[[str], Broker]) -> None:
    with pytest.raises(LookupError, match=r"No durable consumer is named plannr: see shared/services\.py"):
        broker_of("planner").subscriber(durable="plannr")
