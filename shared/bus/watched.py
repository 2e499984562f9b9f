"""Deliveries and consumers as they are seen from outside: one figure and one span each, and how far behind they are."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import nats.js.errors
from nats.aio.client import Client
from nats.js.api import ConsumerInfo

from parley.events import Due, SessionEvent
from shared.bus.api import AMBIGUOUS
from shared.bus.consuming import Delivery
from shared.bus.errors import Park
from shared.bus.topology import SESSIONS
from shared.log import subject_of
from shared.telemetry import metrics, names, tracing


@contextlib.contextmanager
def watched(delivery: Delivery) -> Iterator[None]:
    """Count, time and trace what the block does with a delivery."""
    if delivery.deliveries > 1:
        metrics.REDELIVERIES.labels(delivery.consumer).inc()
    with metrics.timed(metrics.HANDLER, "interrupted", consumer=delivery.consumer) as timing, _span(delivery):
        try:
            yield
            timing.outcome = "done"
        except Park:
            timing.outcome = "parked"
            raise
        except Exception:
            timing.outcome = "failed"
            raise


def _span(delivery: Delivery) -> tracing.Recording:
    """An advisory is of no session, and so of no trace."""
    tokens = delivery.subject.split(".")
    if tokens[0] not in ("session", "timerfired") or len(tokens) < 3:
        return tracing.NOTHING
    attributes: dict[str, tracing.Value] = {
        names.MESSAGING: names.NATS,
        names.MESSAGING_OPERATION: "process",
        names.MESSAGING_OPERATION_TYPE: "process",
        names.SUBJECT: delivery.subject,
        names.CONSUMER: delivery.consumer,
        names.EVENT: ".".join(tokens[3:]) or tokens[2],
        names.POSITION: delivery.position,
        names.DELIVERIES: delivery.deliveries,
    }
    parent = delivery.headers.get(tracing.HEADER)
    return tracing.of_session(
        f"process {delivery.consumer}", tokens[1], kind="consumer", parent=parent, attributes=attributes
    )


@contextlib.contextmanager
def watched_append(event: SessionEvent, due: Due) -> Iterator[metrics.Timing]:
    """One append; whoever makes it says what became of it."""
    attributes: dict[str, tracing.Value] = {
        names.MESSAGING: names.NATS,
        names.MESSAGING_OPERATION: "publish",
        names.MESSAGING_OPERATION_TYPE: "send",
        names.SUBJECT: subject_of(event, due),
        names.EVENT: event.type,
        names.VERSION: event.version,
        names.DUE: due,
    }
    name = f"publish {event.type}"
    with (
        metrics.timed(metrics.APPEND, "unknown") as timing,
        tracing.of_session(name, event.session_id, kind="producer", attributes=attributes) as span,
    ):
        try:
            yield timing
        finally:
            span.set({names.OUTCOME: timing.outcome})


class Consumer(NamedTuple):
    """How a durable consumer stands: positions in its stream, and whether anybody is asking for more at this moment."""

    delivered: int  # up to here everything has been given to somebody
    done: int  # and up to here everything is acknowledged
    pending: int
    in_hand: int
    redelivered: int
    asking: bool


async def consumer_of(client: Client, stream: str, durable: str) -> Consumer:
    """Raises AMBIGUOUS, among them NotFoundError."""
    info = await client.jetstream().consumer_info(stream, durable)
    return Consumer(
        delivered=info.delivered.stream_seq if info.delivered else 0,
        done=info.ack_floor.stream_seq if info.ack_floor else 0,
        pending=info.num_pending or 0,
        in_hand=info.num_ack_pending or 0,
        redelivered=info.num_redelivered or 0,
        asking=bool(info.num_waiting),
    )


async def tell_lag(client: Client, info: ConsumerInfo) -> None:
    """How far behind this consumer is. `info` is what the server has just said about it."""
    durable = info.name
    metrics.PENDING.labels(durable).set(info.num_pending or 0)
    metrics.ACK_PENDING.labels(durable).set(info.num_ack_pending or 0)
    metrics.REDELIVERED.labels(durable).set(info.num_redelivered or 0)
    delivered = info.delivered.stream_seq if info.delivered else 0
    done = info.ack_floor.stream_seq if info.ack_floor else 0
    if info.stream_name == SESSIONS:  # of the other streams nobody may read single messages
        waiting = await _age(client, info, delivered) if info.num_pending else 0
        metrics.OLDEST_PENDING.labels(durable).set(waiting)
        unfinished = await _age(client, info, done) if info.num_ack_pending else waiting
        metrics.OLDEST_UNACKED.labels(durable).set(unfinished)


async def _age(client: Client, info: ConsumerInfo, after: int) -> float:
    """Seconds since the consumer's first message after this position was stored; 0 where it is gone meanwhile."""
    subject = info.config.filter_subject or ">"
    try:
        message = await client.jetstream().get_msg(info.stream_name, seq=after + 1, subject=subject, next=True)
    except (*AMBIGUOUS, nats.js.errors.NotFoundError):
        return 0
    return max((datetime.now(UTC) - message.time).total_seconds(), 0) if message.time else 0
