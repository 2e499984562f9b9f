"""`parley provision` and `parley rebuild`: bring streams and consumers, or the database, to what they should be."""

import asyncio
import subprocess
import sys

from cli.command import Unreachable
from cli.operate.home import use_running_nats
from cli.operate.nats_server import without_secrets
from cli.operate.programs import environment_for
from shared.bus import BusUnavailable
from shared.bus import provision as bus
from shared.settings import Settings

MODULE = "services.plan_store.operations.rebuild"


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


def rebuild(settings: Settings, *, module: str = MODULE, force: bool = False) -> int:
    """Run the program with its output passed through. Returns its exit code."""
    settings = use_running_nats(settings)
    environment = environment_for(
        "plan_store",
        NATS_URL=settings.nats_url,
        DATABASE_URL=settings.sql_url,
        PARLEY_HOME=str(settings.parley_home.resolve()),
    )
    command = [sys.executable, "-m", module, *(["--force"] if force else [])]
    process = subprocess.run(command, env=environment, check=False)  # noqa: S603
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
