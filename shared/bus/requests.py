"""Answers to requests on core NATS: traced, measured, sent only to inboxes, with an error if they are too large."""

import time
from collections.abc import Awaitable, Callable

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.errors import BusUnavailable
from shared.bus.jetstream_api import NATS_ERRORS
from shared.bus.users import ANSWER_TIMEOUT, INBOX
from shared.telemetry import metrics, tracing

ERROR, ERROR_CODE, TOO_LARGE = "Nats-Service-Error", "Nats-Service-Error-Code", "413"  # the headers of NATS services
log = structlog.get_logger("bus")
Responder = Callable[[str, bytes], Awaitable[bytes | None]]  # of a request's subject and body; None sends no answer


def has_inbox(message: Msg) -> bool:
    """Whether the request may be answered. A caller could otherwise make this service publish on its behalf."""
    if message.reply.startswith(INBOX):
        return True
    log.warning("no_inbox", subject=message.subject, reply=message.reply)
    return False


async def respond(client: Client, message: Msg, answer: Responder, *, subject: str) -> None:
    """Send the answer, unless it is None or too late. `subject`: the subscribed pattern, used as a metric label."""
    try:
        parent = (message.headers or {}).get(tracing.HEADER)
        attributes = {tracing.RPC: tracing.NATS, tracing.RPC_METHOD: subject}
        with tracing.child_span(subject, kind="server", parent=parent, attributes=attributes):
            began = time.perf_counter()
            data = await answer(message.subject, message.data)
            if data is not None and time.perf_counter() - began < ANSWER_TIMEOUT:
                metrics.REQUEST.labels(subject).observe(time.perf_counter() - began)
                await _send(client, message, data)
    except (BusUnavailable, *NATS_ERRORS) as error:  # the requester retries
        log.warning("request_unanswered", subject=message.subject, error=repr(error))
    except Exception:
        log.exception("request_failed", subject=message.subject)


async def _send(client: Client, message: Msg, data: bytes) -> None:
    try:
        await message.respond(data)
    except nats.errors.MaxPayloadError:  # without an error the requester would time out and retry
        error = f"The answer on {message.subject} has {len(data)} bytes: {payload_limit(client)}."
        log.warning("answer_too_large", subject=message.subject, bytes=len(data), limit=client.max_payload)
        await client.publish(message.reply, headers={ERROR_CODE: TOO_LARGE, ERROR: error})


def payload_limit(client: Client) -> str:
    return f"the server's max_payload is {client.max_payload}"
