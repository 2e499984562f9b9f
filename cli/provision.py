"""`parley provision`: creates or updates streams and consumers, or reports what differs."""

import asyncio

from cli.command import Unreachable
from cli.home import use_running_nats
from cli.nats_server import without_secrets
from shared.bus import BusUnavailable
from shared.bus import provision as bus
from shared.settings import Settings


async def provision(settings: Settings, *, check: bool = False, force: bool = False) -> int:
    """Provision, or with `check` only report. `force`: also reduce the number of replicas.

    Exit code 1 if `check` finds a difference. Raises Unreachable.
    """
    settings = use_running_nats(settings)
    try:
        async with asyncio.timeout(30):
            lines = await (bus.check(settings) if check else bus.provision(settings, force=force))
    except (TimeoutError, BusUnavailable, bus.ProvisionError) as error:
        where = without_secrets(settings.nats_url)
        raise Unreachable(
            f"NATS at {where} could not be {'checked' if check else 'provisioned'}: {error or type(error).__name__}\n"
            "Start Parley with `make up` (or `parley up`), or name the server with NATS_URL."
        ) from error
    for line in lines:
        print(line)
    if not lines:
        print("Streams and consumers are as they should be.")
    return 1 if check and lines else 0
