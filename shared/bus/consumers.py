"""Checks that durable consumers exist: only provisioning creates them."""

import asyncio

import nats.js.errors
import structlog
from nats.aio.client import Client

from shared.bus.instrumentation import record_lag
from shared.bus.jetstream_api import NATS_ERRORS
from shared.services import Consumer
from shared.telemetry import metrics

log = structlog.get_logger("bus")
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
