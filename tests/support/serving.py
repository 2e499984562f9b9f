"""Serves an application on a free port of this machine for as long as a test needs it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


@asynccontextmanager
async def serving(app: Any, port: int = 0) -> AsyncIterator[str]:
    """Yield the base URL, such as `http://127.0.0.1:40123`; `app` is any ASGI application."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=75,  # after the default of five seconds, a client might send as the server closes
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", port)) as listener:  # queues connections until the server accepts them
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task
