"""A gateway over fakes in its own process, as a target of floods: `python -m tests.support.flooded` prints its port."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import uvicorn

from services.gateway.live.http_protocol import UvicornConfig
from tests.support.gateway import SECRET, World

KEYS = {"alice": "alice-knows-this-key", "bob": "bob-knows-another-key"}


class Flooded(NamedTuple):
    address: str
    pid: int

    def megabytes(self) -> float:
        """The memory that the process uses now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@asynccontextmanager
async def flooded() -> AsyncIterator[Flooded]:
    """A gateway that runs until the block ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.flooded", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout
        port = int(await process.stdout.readline())
        yield Flooded(f"127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        await process.wait()


def main() -> None:
    keys = ",".join(f"{name}={key}" for name, key in KEYS.items())
    world = World(parley_auth="keys", parley_api_keys=keys, parley_secret=SECRET)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        config = UvicornConfig(world.app, world.settings, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
