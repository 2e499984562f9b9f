"""FastStream subscribers for provisioned durable consumers and for requests.

They use internals of FastStream, which tests/unit/test_faststream.py checks against the installed version.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import nats.js.errors
import structlog
from faststream import AckPolicy
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream.nats import ConsumerConfig, JStream, NatsMessage, PullSub
from faststream.nats.configs import NatsBrokerConfig
from faststream.nats.subscriber.config import NatsSubscriberConfig, NatsSubscriberSpecificationConfig
from faststream.nats.subscriber.specification import NatsSubscriberSpecification
from faststream.nats.subscriber.usecases import CoreSubscriber, PullStreamSubscriber
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.deliveries import Delivery, PullRequests, Slots, acknowledge, delivery_of, ignore_errors, record_lag
from shared.bus.jetstream_api import NATS_ERRORS
from shared.services import Consumer
from shared.telemetry import metrics

if TYPE_CHECKING:
    from shared.bus.bus import Bus, Subscription

log = structlog.get_logger("bus")
PULL_TIMEOUT = 1.5  # seconds that a pull request waits at the server
EXPIRY_MARGIN = 1.0  # seconds after its end in which the server must have reported it
EXPIRED_STATUS = "408"  # the status of an expired pull request
WATCH_INTERVAL = 5.0  # seconds between two checks that a consumer exists
POLL_INTERVAL = 0.25  # seconds between two checks for an unprovisioned consumer


async def watch_consumer(client: Client, durable: Consumer) -> None:
    """Log when the consumer is deleted and when it is back: a deleted consumer is otherwise just silent."""
    while True:
        await asyncio.sleep(WATCH_INTERVAL)
        if await _is_gone(client, durable):
            log.error("consumer_gone", stream=durable.stream, consumer=durable.name)
            await wait_until_provisioned(client, durable)
            log.info("consumer_back", stream=durable.stream, consumer=durable.name)


async def _is_gone(client: Client, durable: Consumer) -> bool:
    """Whether the server says that the consumer does not exist. Record its lag if it does."""
    try:
        info = await client.jetstream().consumer_info(durable.stream, durable.name)
    except nats.js.errors.NotFoundError:
        metrics.MISSING.labels(durable.name).set(1)
        return True
    except NATS_ERRORS:
        return False
    metrics.MISSING.labels(durable.name).set(0)
    await record_lag(client, info)
    return False


async def wait_until_provisioned(client: Client, durable: Consumer) -> None:
    """Wait until the consumer exists. FastStream would create a missing one with its own settings."""
    waited = False
    while True:
        try:
            await client.jetstream().consumer_info(durable.stream, durable.name)
        except (*NATS_ERRORS, nats.js.errors.NotFoundError) as error:
            if not waited:
                waited = True
                hint = "waiting; run `parley provision`"
                log.warning(
                    "not_provisioned", stream=durable.stream, consumer=durable.name, error=str(error), hint=hint
                )
            await asyncio.sleep(POLL_INTERVAL)
        else:
            return


class DurableSubscriber(PullStreamSubscriber):
    """Handles the messages of a durable consumer, up to `limit` at once.

    FastStream's own would declare the consumer with its own settings, and wait for the slowest message of each batch.
    nats-py's fetch takes two requests, an empty answer and a timer for each message.
    `client` returns the connection that queries the consumer.
    """

    def __init__(
        self,
        broker_config: NatsBrokerConfig,
        durable: Consumer,
        *,
        limit: int,
        grace: float,
        client: Callable[[], Client],
    ) -> None:
        config, specification, calls = _constructor_arguments(broker_config, durable.filter_subject)
        stream = JStream(durable.stream)
        super().__init__(config, specification, calls, queue="", pull_sub=PullSub(timeout=PULL_TIMEOUT), stream=stream)
        self.add_call(parser_=None, decoder_=_decode, dependencies_=())
        self.durable = durable
        self._slots = Slots(limit)
        self._grace = grace
        self._client = client
        self._requests = PullRequests()
        self._wake = asyncio.Event()

    async def _create_subscription(self) -> None:
        """Wait until the consumer is provisioned, then subscribe and pull. Declares nothing."""
        if self.subscription:
            return
        await wait_until_provisioned(self._client(), self.durable)
        inbox = self.connection.new_inbox()
        self.subscription = await self.connection.subscribe(inbox, cb=self._received)  # type: ignore[assignment]
        self.add_task(self._pull, (inbox,))
        self.add_task(self._expire_requests)
        self.add_task(watch_consumer, (self._client(), self.durable))

    async def _pull(self, inbox: str) -> None:
        """Pull as many messages as can start now, so that none waits here."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.durable.stream}.{self.durable.name}"
        while not self._slots.draining:
            self._wake.clear()
            messages = self._slots.free - self._requests.expected
            if messages > 0 and self.connection.is_connected:  # else it would be buffered and sent late
                self._requests.add(messages, time.monotonic() + PULL_TIMEOUT + EXPIRY_MARGIN)
                request = {"batch": messages, "expires": int(PULL_TIMEOUT * 1e9)}
                await self.connection.publish(subject, json.dumps(request).encode(), reply=inbox)
            await self._wake.wait()

    def _pull_if_needed(self) -> None:
        """Pull when no message is expected or half the slots are free: not after each message."""
        coming = self._requests.expected
        missing = self._slots.free - coming
        if missing > 0 and (not coming or 2 * missing >= self._slots.limit):
            self._wake.set()

    async def _received(self, message: Msg) -> None:
        """Handle a message, or the server's status of a pull request."""
        if message.reply:
            self._requests.message_arrived()
            await self._slots.wait_for_free()
            if self._slots.draining:
                await acknowledge(message, b"-NAK")
            else:
                self._slots.start(self.consume(message), self._pull_if_needed)
        elif (message.headers or {}).get("Status") == EXPIRED_STATUS:
            self._requests.oldest_ended()
        else:  # refused (no leader, or no consumer): pulling at once would be a busy loop
            await asyncio.sleep(POLL_INTERVAL)
            self._requests.expire()
        self._pull_if_needed()

    async def _expire_requests(self) -> None:
        """Expire pull requests that were lost with their server."""
        while True:
            await asyncio.sleep(PULL_TIMEOUT)
            self._requests.expire(time.monotonic())
            self._pull_if_needed()

    def reconnected(self) -> None:
        """Drop all pull requests: after a reconnection the server has forgotten them."""
        self._requests.expire()
        self._pull_if_needed()

    async def stop(self) -> None:
        """Stop pulling, and wait for running handlers within the grace period."""
        subscription, self.subscription = self.subscription, None
        if subscription:
            await ignore_errors(subscription.unsubscribe())
        await self._slots.drain(self._grace)
        await super().stop()


class RequestSubscriber(CoreSubscriber):
    """Answers requests concurrently with what its handler returns; None sends no answer.

    FastStream's own answers one at a time, to any reply subject, with headers.
    `request` and `answer` are types for the AsyncAPI document.
    """

    def __init__(  # noqa: PLR0913  the subscriber's options
        self,
        broker_config: NatsBrokerConfig,
        subject: str,
        *,
        queue: str,
        request: type[Any] | None,
        answer: type[Any],
        bus: "Bus",
    ) -> None:
        config, specification, calls = _constructor_arguments(broker_config, subject, queue=queue)
        super().__init__(config, specification, calls, queue=queue)
        self.add_call(parser_=None, decoder_=_decode_request, dependencies_=())
        self.request, self.answer = request, answer
        self._bus = bus
        self._requests: Subscription | None = None

    async def _create_subscription(self) -> None:
        """Subscribe on the unbuffered connection: late answers are useless."""
        if self._requests is None:
            self._requests = await self._bus.answer_messages(
                self.subject.broker_address, self._answer, queue=self.queue
            )

    async def _answer(self, message: Msg) -> bytes | None:
        return cast("bytes | None", (await self.process_message(message)).body)

    async def stop(self) -> None:
        if self._requests:
            await self._requests.stop()
            self._requests = None
        await super().stop()


def _constructor_arguments(
    broker_config: NatsBrokerConfig,
    subject: str,
    *,
    queue: str = "",
) -> tuple[NatsSubscriberConfig, NatsSubscriberSpecification, CallsCollection[Msg]]:
    """The arguments of FastStream's subscriber constructors."""
    calls = CallsCollection[Msg]()
    config = NatsSubscriberConfig(
        _outer_config=broker_config,
        _ack_policy=AckPolicy.MANUAL,  # its default drops a message whose handler fails
        subject=subject,
        sub_config=ConsumerConfig(),
        extra_options={},
        no_reply=True,
    )
    described = NatsSubscriberSpecificationConfig(
        subject=subject, queue=queue or None, title_=None, description_=None, include_in_schema=True
    )
    specification = NatsSubscriberSpecification(
        _outer_config=broker_config, specification_config=described, calls=calls
    )
    return config, specification, calls


async def _decode(message: NatsMessage) -> Delivery:
    """The handler's argument. A message of FastStream's test broker counts as a first delivery."""
    raw = message.raw_message
    return delivery_of(raw) if raw.reply else Delivery(raw.subject, raw.data, 0, 1, raw.headers or {})


async def _decode_request(message: NatsMessage) -> tuple[str, bytes]:
    """The handler's two arguments: the actual subject, and the body."""
    return message.raw_message.subject, message.body
