"""An executor in a separate process, which tests can kill."""

import asyncio
import sys

from shared.environment import child_environment
from shared.settings import Settings


async def executor(settings: Settings, **environ: str) -> asyncio.subprocess.Process:
    """A started executor. Its stderr goes to `executor.log` in `parley_home`."""
    environment = child_environment(
        NATS_URL=settings.nats_url,
        PARLEY_HOME=str(settings.parley_home),
        ACK_WAIT=str(settings.ack_wait),
        OPENAI_BASE_URL=settings.openai_base_url,
        OPENAI_MODEL=settings.openai_model,
        **environ,
    )
    with (settings.parley_home / "executor.log").open("ab") as log:
        command = (sys.executable, "-m", "services.executor.app")
        return await asyncio.create_subprocess_exec(*command, env=environment, stderr=log)
