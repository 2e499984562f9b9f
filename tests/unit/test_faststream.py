"""The internals of FastStream and nats-py that Parley's subscribers use, and these subscribers on the test broker."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import pytest
from faststream import BaseMiddleware
from faststream._internal.broker.registrator import Registrator
from faststream._internal.endpoint.subscriber import SubscriberUsecase
from faststream._internal.endpoint.subscriber.mixins import TasksMixin
from faststream.message import StreamMessage
from faststream.nats import NatsBroker, TestNatsBroker
from faststream.nats.subscriber.config import NatsSubscriberConfig, NatsSubscriberSpecificationConfig
from faststream.nats.subscriber.specification import NatsSubscriberSpecification
from faststream.nats.subscriber.usecases import CoreSubscriber, LogicSubscriber, PullStreamSubscriber
from nats.aio.client import Client
from pydantic import BaseModel

from shared.bus import Bus
from shared.bus.broker import Broker
from shared.bus.subscribers import DurableSubscriber, RequestSubscriber
from shared.settings import Settings
from shared.worker import WorkerOverrides, worker_application
from tests.support.inbox import Inbox

ADVICE = "shared/bus/subscribers.py and broker.py rest on it: read what changed, then change them and this test"
# The parameters that Parley passes to these functions, or repeats where it overrides them.
PARAMETERS: list[tuple[Callable[..., Any], str]] = [
    (PullStreamSubscriber.__init__, "self config specification calls queue pull_sub stream"),
    (PullStreamSubscriber._create_subscription, "self"),
    (CoreSubscriber.__init__, "self config specification calls queue"),
    (CoreSubscriber._create_subscription, "self"),
    (LogicSubscriber.start, "self"),
    (LogicSubscriber.stop, "self"),
    (SubscriberUsecase.consume, "self msg"),
    (SubscriberUsecase.process_message, "self msg"),
    (SubscriberUsecase.add_call, "self parser_ decoder_ dependencies_ codec_"),
    (TasksMixin.add_task, "self func func_args func_kwargs restart_on_failure"),
    (Registrator.subscriber, "self subscriber persistent"),
    (NatsBroker.stop, "self exc_type exc_val exc_tb"),
    (NatsSubscriberSpecification.__init__, "self _outer_config specification_config calls"),
    (BaseMiddleware.__init__, "self msg context"),
    (BaseMiddleware.consume_scope, "self call_next msg"),
    (StreamMessage.decode, "self"),
    (Client.publish, "self subject payload reply headers"),
    (Client.subscribe, "self subject queue cb future max_msgs pending_msgs_limit pending_bytes_limit"),
]
FIELDS: list[tuple[Any, set[str]]] = [
    (NatsSubscriberConfig, {"_outer_config", "_ack_policy", "subject", "sub_config", "extra_options", "no_reply"}),
    (NatsSubscriberSpecificationConfig, {"subject", "queue", "title_", "description_", "include_in_schema"}),
]


@pytest.mark.parametrize(("call", "expected"), PARAMETERS, ids=lambda value: getattr(value, "__qualname__", ""))
def test_the_internals_that_subscribers_use_are_unchanged(call: Callable[..., Any], expected: str) -> None:
    actual = " ".join(inspect.signature(call).parameters)
    installed = f"FastStream {version('faststream')}, nats-py {version('nats-py')}"
    assert actual == expected, f"{installed}: {call.__qualname__} has other parameters. {ADVICE}"


@pytest.mark.parametrize(("config", "expected"), FIELDS)
def test_the_configuration_classes_that_subscribers_use_are_unchanged(config: Any, expected: set[str]) -> None:
    missing = expected - {field.name for field in fields(config)}
    assert not missing, f"FastStream {version('faststream')}: {config.__name__} has no {missing}. {ADVICE}"


async def test_the_attributes_of_a_started_subscriber_are_unchanged(broker_of: Callable[[str], Broker]) -> None:
    """Parley reads these attributes; without this test only tests with a server would notice a rename."""
    broker = broker_of("planner")
    subscriber = broker.subscriber(durable="planner")
    assert isinstance(subscriber, DurableSubscriber)
    subscriber(Inbox())
    async with TestNatsBroker(broker):
        assert subscriber.running is True, ADVICE
        assert subscriber.subscription is None, ADVICE
        assert len(subscriber.calls) == 1, ADVICE
        assert subscriber.tasks == [], ADVICE
        assert subscriber._outer_config.context is broker.context, ADVICE
        assert [type(middleware).__name__ for middleware in subscriber._broker_middlewares] == ["MiddlewareFactory"], (
            ADVICE
        )
        assert subscriber.connection, ADVICE


# --- FastStream's test broker: no server, no acknowledgements


@pytest.fixture
def broker_of() -> Callable[[str], Broker]:
    return lambda name: Bus(Settings(), name).broker


def test_the_broker_creates_each_kind_of_subscriber(broker_of: Callable[[str], Broker]) -> None:
    broker = broker_of("planner")
    assert isinstance(broker.subscriber(durable="planner"), DurableSubscriber)
    assert isinstance(broker.subscriber("whose", answer=BaseModel), RequestSubscriber)
    assert type(broker.subscriber("plain")) is CoreSubscriber


async def test_a_worker_answers_pings_but_not_requests_for_others_drafts() -> None:
    app = worker_application("verifier", Settings(), WorkerOverrides())
    async with TestNatsBroker(app.broker) as broker:
        assert (await broker.request(b"", "ping.verifier")).body == b"ok"
        assert (await broker.request(b"", "draft.get.s")).body == b""


def test_subscribing_to_an_unknown_consumer_is_refused(broker_of: Callable[[str], Broker]) -> None:
    with pytest.raises(LookupError, match=r"No durable consumer is named plannr: see shared/services\.py"):
        broker_of("planner").subscriber(durable="plannr")
