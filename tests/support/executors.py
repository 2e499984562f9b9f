"""Services in separate processes, which tests can kill."""

import asyncio
import sys

from parley.events.values import Service
from shared.environment import child_environment
from shared.settings import Settings


async def executor(settings: Settings, **environ: str) -> asyncio.subprocess.Process:
    """A started executor."""
    return await process_of("executor", settings, **environ)


async def process_of(service: Service, settings: Settings, **environ: str) -> asyncio.subprocess.Process:
    """A started process of the service. Its stderr goes to `<service>.log` in `parley_home`."""
    environment = child_environment(
        NATS_URL=settings.nats_url,
        PARLEY_HOME=str(settings.parley_home),
        ACK_WAIT=str(settings.ack_wait),
        OPENAI_BASE_URL=settings.openai_base_url,
        OPENAI_MODEL=settings.openai_model,
        **environ,
    )
    with (settings.parley_home / f"{service}.log").open("ab") as log:
        command = (sys.executable, "-m", f"services.{service}.app")
        return await asyncio.create_subprocess_exec(*command, env=environment, stderr=log)
