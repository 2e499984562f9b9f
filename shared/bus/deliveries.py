"""Deliveries of a durable consumer: what they hold, how they are acknowledged, and how they are observed."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import nats.js.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import ConsumerInfo

from parley.events import Due, SessionEvent
from shared.bus.errors import Unprocessable
from shared.bus.jetstream_api import NATS_ERRORS
from shared.bus.topology import SESSIONS
from shared.log import StoredMessage, subject_of
from shared.telemetry import metrics, tracing

log = structlog.get_logger("bus")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Delivery(NamedTuple):
    """A message of a durable consumer. `position` is its stream sequence; `deliveries` starts at 1."""

    subject: str
    data: bytes
    position: int
    deliveries: int
    headers: Mapping[str, str] = {}
    at: datetime = datetime.min.replace(tzinfo=UTC)  # when the broker stored it
    consumer: str = ""

    @property
    def raw(self) -> StoredMessage:
        """The message as the log stores it."""
        return StoredMessage(self.position, self.subject, self.headers, self.data, self.at)


Handler = Callable[[Delivery], Awaitable[None]]


def delivery_of(message: Msg) -> Delivery:
    """Parse the delivery from the message and its acknowledgement subject.

    The subject is `$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.<number>.<stored at>.…`,
    where newer servers add two tokens after ACK and one at the end. nats-py's metadata rounds the time, so it can
    differ from the log's by a microsecond.
    """
    *_, consumer, deliveries, position, _, stored, _ = message.reply.split(".")[:11]
    at = EPOCH + timedelta(microseconds=int(stored) // 1000)
    headers = message.headers or {}
    return Delivery(message.subject, message.data, int(position), int(deliveries), headers, at, consumer)


async def acknowledge(message: Msg, body: bytes) -> None:
    """Send `+ACK`, `-NAK`, `+TERM <reason>` or `+WPI`. If it is lost, the server redelivers, which is harmless."""
    try:
        await message._client.publish(message.reply, body)  # nats-py's term() takes no reason
    except Exception as error:
        log.warning("ack_not_sent", subject=message.subject, error=repr(error))


async def ignore_errors(ending: Awaitable[Any]) -> None:
    """Await `ending` and log its error: shutdown must work in any state of the connection."""
    try:
        await ending
    except Exception as error:
        log.debug("while_leaving", error=repr(error))


@contextlib.contextmanager
def observe_delivery(delivery: Delivery) -> Iterator[None]:
    """Count, time and trace the handling of a delivery."""
    if delivery.deliveries > 1:
        metrics.REDELIVERIES.labels(delivery.consumer).inc()
    with metrics.timed(metrics.HANDLER, "interrupted", consumer=delivery.consumer) as timing, _span(delivery):
        try:
            yield
            timing.outcome = "done"
        except Unprocessable:
            timing.outcome = "parked"
            raise
        except Exception:
            timing.outcome = "failed"
            raise


def _span(delivery: Delivery) -> contextlib.AbstractContextManager[object]:
    """A span for messages of a session; none for advisories, which belong to no trace."""
    tokens = delivery.subject.split(".")
    if tokens[0] not in ("session", "timerfired") or len(tokens) < 3:
        return contextlib.nullcontext()
    attributes: dict[str, tracing.Value] = {
        tracing.MESSAGING: tracing.NATS,
        tracing.MESSAGING_OPERATION: "process",
        tracing.MESSAGING_OPERATION_TYPE: "process",
        tracing.SUBJECT: delivery.subject,
        tracing.CONSUMER: delivery.consumer,
        tracing.EVENT: ".".join(tokens[3:]) or tokens[2],
        tracing.POSITION: delivery.position,
        tracing.DELIVERIES: delivery.deliveries,
    }
    parent = delivery.headers.get(tracing.HEADER)
    return tracing.session_span(
        f"process {delivery.consumer}", tokens[1], kind="consumer", parent=parent, attributes=attributes
    )


@contextlib.contextmanager
def observe_append(event: SessionEvent, due: Due) -> Iterator[metrics.Timing]:
    """Time and trace an append. The caller sets `outcome`."""
    attributes: dict[str, tracing.Value] = {
        tracing.MESSAGING: tracing.NATS,
        tracing.MESSAGING_OPERATION: "publish",
        tracing.MESSAGING_OPERATION_TYPE: "send",
        tracing.SUBJECT: subject_of(event, due),
        tracing.EVENT: event.type,
        tracing.VERSION: event.version,
        tracing.DUE: due,
    }
    name = f"publish {event.type}"
    with (
        metrics.timed(metrics.APPEND, "unknown") as timing,
        tracing.session_span(name, event.session_id, kind="producer", attributes=attributes) as span,
    ):
        try:
            yield timing
        finally:
            span.set_attribute(tracing.OUTCOME, timing.outcome)


class ConsumerState(NamedTuple):
    """The state of a durable consumer: positions in its stream, and whether a pull request is waiting."""

    delivered: int  # the last delivered position
    acknowledged: int  # everything up to this position is acknowledged
    pending: int
    unacknowledged: int
    redelivered: int
    has_waiting_pull: bool


async def consumer_state(client: Client, stream: str, durable: str) -> ConsumerState:
    """The consumer's state. Raises NATS_ERRORS, among them NotFoundError."""
    info = await client.jetstream().consumer_info(stream, durable)
    return ConsumerState(
        delivered=info.delivered.stream_seq if info.delivered else 0,
        acknowledged=info.ack_floor.stream_seq if info.ack_floor else 0,
        pending=info.num_pending or 0,
        unacknowledged=info.num_ack_pending or 0,
        redelivered=info.num_redelivered or 0,
        has_waiting_pull=bool(info.num_waiting),
    )


async def record_lag(client: Client, info: ConsumerInfo) -> None:
    """Set the lag metrics of this consumer from the server's `info`."""
    durable = info.name
    metrics.PENDING.labels(durable).set(info.num_pending or 0)
    metrics.ACK_PENDING.labels(durable).set(info.num_ack_pending or 0)
    metrics.REDELIVERED.labels(durable).set(info.num_redelivered or 0)
    delivered = info.delivered.stream_seq if info.delivered else 0
    acknowledged = info.ack_floor.stream_seq if info.ack_floor else 0
    if info.stream_name == SESSIONS:  # users may not read single messages of other streams
        waiting = await _age(client, info, delivered) if info.num_pending else 0
        metrics.OLDEST_PENDING.labels(durable).set(waiting)
        unfinished = await _age(client, info, acknowledged) if info.num_ack_pending else waiting
        metrics.OLDEST_UNACKED.labels(durable).set(unfinished)


async def _age(client: Client, info: ConsumerInfo, after: int) -> float:
    """Seconds since the consumer's first message after this position was stored; 0 if it is gone."""
    subject = info.config.filter_subject or ">"
    try:
        message = await client.jetstream().get_msg(info.stream_name, seq=after + 1, subject=subject, next=True)
    except (*NATS_ERRORS, nats.js.errors.NotFoundError):
        return 0
    return max((datetime.now(UTC) - message.time).total_seconds(), 0) if message.time else 0
