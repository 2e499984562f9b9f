"""What a FastStream subscriber of a provisioned durable consumer gets its messages from."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import nats.js.errors
import structlog
from faststream.nats.subscriber.usecases import PullStreamSubscriber
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from shared.bus.deliveries import acknowledge, ignore_errors, record_lag
from shared.bus.jetstream_api import NATS_ERRORS
from shared.services import Consumer
from shared.telemetry import metrics

log = structlog.get_logger("bus")
PULL_TIMEOUT = 1.5  # seconds that a pull request waits at the server
EXPIRY_MARGIN = 1.0  # seconds after its end in which the server must have reported it; then it was lost
EXPIRED_STATUS = "408"  # the status of an expired pull request
WATCH_INTERVAL = 5.0  # seconds between two checks that a consumer exists
POLL_INTERVAL = 0.25  # seconds between two checks for an unprovisioned consumer, and after a refused pull request
CANCEL_GRACE = 1.0  # seconds in which a cancelled handler may still record its outcome


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


class Pull:
    """Pulls the messages of a durable consumer for a FastStream subscriber, and handles up to `limit` at once.

    One request at a time asks for as many messages as can begin now, so that none waits here. FastStream's own loop
    waits for the slowest message of a batch. What is on its way when a `fetch` of nats-py is cancelled, as at a stop,
    comes again only after `ack_wait`.

    `client` returns the connection that queries the consumer.
    """

    def __init__(
        self, subscriber: PullStreamSubscriber, durable: Consumer, *, limit: int, client: Callable[[], Client]
    ) -> None:
        self._subscriber, self._durable, self._limit, self._client = subscriber, durable, limit, client
        self._handling: set[asyncio.Task[Any]] = set()
        self._expected = 0  # how many messages the open request may still bring
        self._may_pull = asyncio.Event()
        self._background: list[asyncio.Task[None]] = []
        self._subscription: Subscription | None = None
        self._stopping = False

    async def start(self) -> None:
        """Wait until the consumer is provisioned, then subscribe and pull. Declares nothing."""
        await wait_until_provisioned(self._client(), self._durable)
        if self._stopping:
            return
        connection = self._subscriber.connection
        inbox = connection.new_inbox()
        self._subscription = await connection.subscribe(inbox, cb=self._received)
        tasks = (self._pull(connection, inbox), watch_consumer(self._client(), self._durable))
        self._background = [asyncio.create_task(task) for task in tasks]

    async def _pull(self, connection: Client, inbox: str) -> None:
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._durable.stream}.{self._durable.name}"
        lost_at = 0.0
        while True:
            self._may_pull.clear()
            free = self._limit - len(self._handling)
            if free > 0 and not self._expected and connection.is_connected:  # else it would be buffered and sent late
                self._expected, lost_at = free, _now() + PULL_TIMEOUT + EXPIRY_MARGIN
                request = {"batch": free, "expires": int(PULL_TIMEOUT * 1e9)}
                try:
                    await connection.publish(subject, json.dumps(request).encode(), reply=inbox)
                except NATS_ERRORS as error:  # counts as lost: pulling must not end with it
                    log.warning("pull_failed", consumer=self._durable.name, error=repr(error))
            try:
                async with asyncio.timeout_at(lost_at if self._expected else None):
                    await self._may_pull.wait()
            except TimeoutError:
                self._expected = 0

    async def _received(self, message: Msg) -> None:
        """Handle a message, or the server's status of the pull request."""
        if not message.reply:
            if (message.headers or {}).get("Status") != EXPIRED_STATUS:  # refused: no leader, or no consumer
                await asyncio.sleep(POLL_INTERVAL)
            self.pull_again()
            return
        self._expected = max(self._expected - 1, 0)
        if self._stopping or len(self._handling) >= self._limit:  # the latter: of a request that counted as lost
            await acknowledge(message, b"-NAK")
        else:
            task = asyncio.create_task(self._subscriber.consume(message))
            self._handling.add(task)
            task.add_done_callback(self._handled)
        if not self._expected:
            self._may_pull.set()

    def _handled(self, task: asyncio.Task[Any]) -> None:
        self._handling.discard(task)
        if not self._expected:
            self._may_pull.set()

    def pull_again(self) -> None:
        """The open request has ended: after a reconnection the server has forgotten it."""
        self._expected = 0
        self._may_pull.set()

    async def stop(self, grace: float) -> None:
        """Stop pulling, and wait for running handlers. After `grace` seconds cancel the rest, whose messages other
        replicas take over.

        A cancelled handler has CANCEL_GRACE seconds to record its outcome: while NATS is away that could take for ever.
        """
        self._stopping = True
        for task in self._background:
            task.cancel()
        if self._subscription:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_GRACE):
                    # messages on their way are released
                    await ignore_errors(self._subscription.drain())  # type: ignore[no-untyped-call]
        for seconds in (grace, CANCEL_GRACE, CANCEL_GRACE):
            if self._handling:
                _, late = await asyncio.wait(self._handling, timeout=seconds)
                for handler in late:
                    handler.cancel()

    async def unsubscribe(self) -> None:
        """FastStream ends its subscriber's subscription: this one has ended with `stop`."""


def _now() -> float:
    return asyncio.get_running_loop().time()
