"""Whether durable consumers are where they should be: provisioning makes them, nobody else does."""

import asyncio

import nats.js.errors
import structlog
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.watched import tell_lag
from shared.services import Consumer
from shared.telemetry import metrics

log = structlog.get_logger("bus")
WATCH = 5.0  # seconds between two looks whether a consumer is still there
LOOK_AGAIN = 0.25  # seconds between two looks for what provisioning has not made yet


async def watch(client: Client, durable: Consumer) -> None:
    """Say when somebody has deleted the consumer, and when it is back: by itself that is only silence."""
    while True:
        await asyncio.sleep(WATCH)
        if await _is_gone(client, durable):
            log.error("consumer_gone", stream=durable.stream, consumer=durable.name)
            await until_provisioned(client, durable)
            log.info("consumer_back", stream=durable.stream, consumer=durable.name)


async def _is_gone(client: Client, durable: Consumer) -> bool:
    """Whether the server says so; one that does not answer says nothing. What it says of the lag is told."""
    try:
        info = await client.jetstream().consumer_info(durable.stream, durable.name)
    except nats.js.errors.NotFoundError:
        metrics.MISSING.labels(durable.name).set(1)
        return True
    except AMBIGUOUS:
        return False
    metrics.MISSING.labels(durable.name).set(0)
    await tell_lag(client, info)
    return False


async def until_provisioned(client: Client, durable: Consumer) -> None:
    """Wait until the consumer is there. FastStream would make a missing one itself, with settings of its own."""
    waited = False
    while True:
        try:
            await client.jetstream().consumer_info(durable.stream, durable.name)
        except (*AMBIGUOUS, nats.js.errors.NotFoundError) as error:
            if not waited:
                waited = True
                hint = "waiting; run `parley provision`"
                log.warning(
                    "not_provisioned", stream=durable.stream, consumer=durable.name, error=str(error), hint=hint
                )
            await asyncio.sleep(LOOK_AGAIN)
        else:
            return
