"""Connects commands to the bus and plan_store of the running Parley, or says what is missing."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from cli.command import Declined, Unreachable
from cli.operate.home import use_running_nats
from cli.operate.nats_server import probe, without_secrets
from shared.bus import Bus
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.commands import CommandMeta
from shared.log import UpgradeNeeded
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreRefused, StoreUnavailable
from shared.store_api import StoreMessage, Verb

LOCAL_USER = "local"  # the only user of a gateway without accounts


def command_of(user: str) -> CommandMeta:
    """The metadata of a new command of this user."""
    return CommandMeta(actor=f"{USER_PREFIX}{user}", at=datetime.now(UTC), id=uuid.uuid4().hex)


@contextlib.asynccontextmanager
async def connect_bus(settings: Settings) -> AsyncIterator[Bus]:
    """A connection to the bus of the running Parley, or to NATS_URL.

    Raises Unreachable at once if no NATS answers, and Declined if a newer release has continued the session.
    """
    source = "NATS_URL" if "nats_url" in settings.model_fields_set else f"PARLEY_HOME={settings.parley_home}"
    settings = use_running_nats(settings)
    address = without_secrets(settings.nats_url)
    try:
        await asyncio.to_thread(probe, settings.nats_url)
    except OSError as error:
        raise Unreachable(
            f"No NATS answers at {address} ({error}; looked there because of {source}).\n"
            "Start Parley with `make up` (or `parley up`), or name the server with NATS_URL."
        ) from error
    bus = Bus(settings, "cli")
    try:
        async with asyncio.timeout(10):
            await bus.connect()
    except TimeoutError as error:
        raise Unreachable(f"NATS at {address} does not let us in: is the user or token in NATS_URL right?") from error
    try:
        yield bus
    except UpgradeNeeded as error:
        raise Declined(str(error)) from error
    finally:
        await bus.stop()


async def query_store[Q: StoreMessage, A: StoreMessage](store: PlanStoreClient, verb: Verb[Q, A], request: Q) -> A:
    """Send one request to plan_store. Raises Unreachable, Declined."""
    try:
        answer = await store.ask(verb.name, **request.model_dump(mode="json"))
    except StoreUnavailable as error:
        raise Unreachable(
            f"{error} The request was on the subject plan_store.{verb.name}.\n"
            "Is the plan_store service running? `make up` starts it; `parley doctor` shows more."
        ) from error
    except StoreRefused as error:
        raise Declined(str(error)) from error
    return verb.answer.model_validate(answer, extra="allow")  # a newer plan_store may send more fields
