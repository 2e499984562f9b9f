"""What the other commands need of a running Parley: its bus and its store, or a clear word about what is missing."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from cli.command import Declined, Unreachable
from cli.home import attached
from cli.nats_server import probe, without_secrets
from shared.bus import Bus
from shared.log import UpgradeNeeded
from shared.settings import Settings
from shared.store import Store, StoreDown, StoreRefused
from shared.store_api import Message, Verb

LOCAL_USER = "local"  # whom a gateway without accounts takes everybody for


@contextlib.asynccontextmanager
async def bus(settings: Settings) -> AsyncIterator[Bus]:
    """The bus of the running Parley (or of NATS_URL).

    Raises Unreachable, at once, where no NATS answers; Declined where a newer release has continued the session.
    """
    named = "NATS_URL" if "nats_url" in settings.model_fields_set else f"PARLEY_HOME={settings.parley_home}"
    settings = attached(settings)
    shown = without_secrets(settings.nats_url)
    try:
        await asyncio.to_thread(probe, settings.nats_url)
    except OSError as error:
        raise Unreachable(
            f"No NATS answers at {shown} ({error}; looked there because of {named}).\n"
            "Start Parley with `make up` (or `parley up`), or name the server with NATS_URL."
        ) from error
    found = Bus(settings, "cli")
    try:
        async with asyncio.timeout(10):
            await found.connect()
    except TimeoutError as error:
        raise Unreachable(f"NATS at {shown} does not let us in: is the user or token in NATS_URL right?") from error
    try:
        yield found
    except UpgradeNeeded as error:
        raise Declined(str(error)) from error
    finally:
        await found.stop()


async def query[Q: Message, A: Message](store: Store, verb: Verb[Q, A], request: Q) -> A:
    """One request to plan_store. Raises Unreachable or Declined."""
    try:
        answer = await store.ask(verb.name, **request.model_dump(mode="json"))
    except StoreDown as error:
        raise Unreachable(
            f"{error} It is asked on the subject plan_store.{verb.name}.\n"
            "Is the plan_store service up? `make up` starts it; `parley doctor` says more."
        ) from error
    except StoreRefused as error:
        raise Declined(str(error)) from error
    return verb.answer.model_validate(answer, extra="allow")  # a newer plan_store may say more
