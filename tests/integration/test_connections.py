"""Idle connections: a request that is sent just as the server closes one is lost."""

import asyncio

from shared.llm.endpoint import openai_client
from shared.message_limits import CONNECTIONS
from shared.settings import Settings

MODELS = b'{"object": "list", "data": []}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(MODELS), MODELS)


async def test_an_idle_connection_to_a_model_is_not_used_again() -> None:
    """Uvicorn and Node close idle connections after five seconds: Parley has to drop its own sooner."""
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(RESPONSE)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, openai_client(Settings(openai_api_key="k"), base_url=url, timeout=60) as client:
        await client.models.list()
        await asyncio.sleep((CONNECTIONS.keepalive_expiry or 60) + 0.2)  # the passing of time is what is tested
        await client.models.list()
        assert connections == 2
        assert (CONNECTIONS.keepalive_expiry or 60) < 5
