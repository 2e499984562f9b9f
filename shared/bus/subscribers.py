"""FastStream's subscribers as Parley needs them: one for a provisioned durable consumer, one for requests.

What they rest on inside of FastStream is held against the installed version by tests/unit/test_faststream.py.
"""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

from faststream import AckPolicy, StreamMessage
from faststream._internal.endpoint.subscriber import SubscriberUsecase
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream.nats import ConsumerConfig, JStream, NatsMessage, PullSub
from faststream.nats.configs import NatsBrokerConfig
from faststream.nats.subscriber.config import NatsSubscriberConfig, NatsSubscriberSpecificationConfig
from faststream.nats.subscriber.specification import NatsSubscriberSpecification
from faststream.nats.subscriber.usecases import CoreSubscriber, PullStreamSubscriber
from faststream.response import Response, ensure_response
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import TypeAdapter

from shared.bus import consumers
from shared.bus.consuming import Delivery, PullRequests, Slots, acknowledge, delivery_of, quietly
from shared.services import Consumer

if TYPE_CHECKING:
    from shared.bus.bus import Bus, Subscription

EXPIRES = 1.5  # seconds that a request for messages waits at the server
LATE = 1.0  # seconds until its end must have been heard
EXPIRED = "408"  # the status of a request that has ended


class OneHandler(SubscriberUsecase[Msg]):
    """A subscriber with one handler, which publishes nothing."""

    async def process_message(self, msg: Msg) -> Response:
        """FastStream's own steps at half their cost: without filters, replies, and values to inject."""
        (call,) = self.calls
        async with AsyncExitStack() as stack:
            middlewares = [make(msg, context=self._outer_config.context) for make in self._broker_middlewares]
            for middleware in middlewares:
                await stack.enter_async_context(middleware)
            message = await call.is_suitable(msg, {})
            scopes = (middleware.consume_scope for middleware in reversed(middlewares))
            return ensure_response(await call.call(message=cast("NatsMessage", message), _extra_middlewares=scopes))
        return ensure_response(None)  # a middleware has dealt with what was raised


class DurableSubscriber(OneHandler, PullStreamSubscriber):
    """Works a durable consumer, `limit` messages at once.

    FastStream's own would declare the consumer with settings of its own, fetch a batch and wait for the slowest of it;
    and nats-py's fetch takes two requests, an answer that there is nothing, and a timer for each message.
    `client`: the connection that is asked about the consumer, once there is one.
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
        config, specification, calls = _declared(broker_config, durable.filter_subject)
        stream = JStream(durable.stream, declare=False)
        super().__init__(config, specification, calls, queue="", pull_sub=PullSub(timeout=EXPIRES), stream=stream)
        self.add_call(parser_=_parse, decoder_=_decode, dependencies_=())
        self.durable = durable
        self._slots = Slots(limit)
        self._grace = grace
        self._client = client
        self._requests = PullRequests()
        self._worth_asking = asyncio.Event()

    async def _create_subscription(self) -> None:
        """Listen, once the consumer is provisioned, and ask for messages: nothing is declared here."""
        if self.subscription:
            return
        await consumers.until_provisioned(self._client(), self.durable)
        inbox = self.connection.new_inbox()
        self.subscription = await self.connection.subscribe(inbox, cb=self._received)  # type: ignore[assignment]
        self.add_task(self._ask, (inbox,))
        self.add_task(self._forget)
        self.add_task(consumers.watch, (self._client(), self.durable))

    async def _ask(self, inbox: str) -> None:
        """Ask for as many messages as could begin at once: none grows old here."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self.durable.stream}.{self.durable.name}"
        while not self._slots.draining:
            self._worth_asking.clear()
            messages = self._slots.free - self._requests.messages
            if messages > 0 and self.connection.is_connected:  # else it would be sent later, with all that follow
                self._requests.began(messages, time.monotonic() + EXPIRES + LATE)
                request = {"batch": messages, "expires": int(EXPIRES * 1e9)}
                await self.connection.publish(subject, json.dumps(request).encode(), reply=inbox)
            await self._worth_asking.wait()

    def _look(self) -> None:
        """Ask again once nothing is to come, or for half of the slots: not for each message that ends."""
        coming = self._requests.messages
        missing = self._slots.free - coming
        if missing > 0 and (not coming or 2 * missing >= self._slots.limit):
            self._worth_asking.set()

    async def _received(self, message: Msg) -> None:
        """A message, or what the server says of a request."""
        if message.reply:
            self._requests.arrived()
            await self._slots.available()
            if self._slots.draining:
                await acknowledge(message, b"-NAK")
            else:
                self._slots.start(self.consume(message), self._look)
        elif (message.headers or {}).get("Status") == EXPIRED:
            self._requests.ended()
        else:  # without a leader, or when it was deleted, it refuses at once: asking again at once would be a hot loop
            await asyncio.sleep(consumers.LOOK_AGAIN)
            self._requests.lost()
        self._look()

    async def _forget(self) -> None:
        """Of a request that a server took with it nobody says that it has ended."""
        while True:
            await asyncio.sleep(EXPIRES)
            self._requests.lost(time.monotonic())
            self._look()

    def reconnected(self) -> None:
        """The server has forgotten every request."""
        self._requests.lost()
        self._look()

    async def stop(self) -> None:
        """Ask for no more, and let running handlers end within the grace."""
        subscription, self.subscription = self.subscription, None
        if subscription:
            await quietly(subscription.unsubscribe())
        await self._slots.drain(self._grace)
        await super().stop()

    def get_log_context(self, message: StreamMessage[Msg] | None) -> dict[str, str]:
        """Nothing: FastStream would put the subject together again for each message, and logs none."""
        return {}


class RequestSubscriber(OneHandler, CoreSubscriber):
    """Answers requests with what its handler returns, several at once; None leaves the answer to another process.

    FastStream's own would answer one after the other, wherever the caller asks it to, with headers.
    `request` and `answer`: their types, for the documents.
    """

    def __init__(  # noqa: PLR0913  a subscriber has as many sides
        self,
        broker_config: NatsBrokerConfig,
        subject: str,
        *,
        queue: str,
        request: type[Any] | None,
        answer: type[Any],
        bus: "Bus",
    ) -> None:
        config, specification, calls = _declared(broker_config, subject, queue=queue, payload=request)
        super().__init__(config, specification, calls, queue=queue)
        self.add_call(parser_=_parse, decoder_=_decode_request, dependencies_=())
        self.request, self.answer = request, answer
        self._bus = bus
        self._answering: Subscription | None = None

    async def _create_subscription(self) -> None:
        """On the connection that does not buffer while it is down: an answer that comes late helps nobody."""
        if self._answering is None:
            self._answering = await self._bus.answer_messages(
                self.subject.broker_address, self._answer, queue=self.queue
            )

    async def _answer(self, message: Msg) -> bytes | None:
        return cast("bytes | None", (await self.process_message(message)).body)

    async def stop(self) -> None:
        if self._answering:
            await self._answering.stop()
            self._answering = None
        await super().stop()


class _Specification(NatsSubscriberSpecification):
    """FastStream's own for the documents. It would read the payload from the handler's parameter."""

    payload: type[Any] | None = None  # None: any JSON

    def get_payloads(self) -> list[tuple[dict[str, Any], str]]:
        schema = TypeAdapter(self.payload).json_schema() if self.payload else {}
        return [({"title": f"{self.call_name}:Message"} | schema, self.call_name)]


def _declared(
    broker_config: NatsBrokerConfig,
    subject: str,
    *,
    queue: str = "",
    payload: type[Any] | None = None,
) -> tuple[NatsSubscriberConfig, _Specification, CallsCollection[Msg]]:
    """What every subscriber of FastStream's is made of."""
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
    specification = _Specification(_outer_config=broker_config, specification_config=described, calls=calls)
    specification.payload = payload
    return config, specification, calls


async def _parse(message: Msg) -> NatsMessage:
    """As FastStream does it, without the two random ids and the pattern that nobody asks for."""
    return NatsMessage(message, message.data, headers=message.headers, correlation_id=message.reply or message.subject)


async def _decode(message: NatsMessage) -> Delivery:
    """What a handler gets. A message of FastStream's test broker comes from no consumer: it is a first delivery."""
    raw = message.raw_message
    return delivery_of(raw) if raw.reply else Delivery(raw.subject, raw.data, 0, 1, raw.headers or {})


async def _decode_request(message: NatsMessage) -> tuple[str, bytes]:
    """FastStream gives a handler of two parameters the subject, which a wildcard may have fitted, and the body."""
    return message.raw_message.subject, message.body
