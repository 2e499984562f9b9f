"""Support for tests of the gateway: the application on a real port, over an in-memory bus and store, and a client."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from services.gateway.app import build
from services.gateway.live.http_protocol import UvicornConfig
from shared.log import SessionAtPosition, SessionLog
from shared.settings import Settings
from shared.store import StoreUnavailable
from shared.testing import InMemoryStore
from tests.support.bus import FakeBus
from tests.support.stories import Conversation
from tests.support.timeouts import WAIT_TIMEOUT

SECRET = "s" * 40
TOKEN = "let-me-in"


class FakeStore(InMemoryStore):
    """Sessions and journals, folded from the log. `down`: every request fails."""

    def __init__(self, log: SessionLog) -> None:
        super().__init__(log)
        self.down = False

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        if self.down:
            raise StoreUnavailable("The plan store does not answer.")
        return await super().load(session_id, at_least=at_least, version=version)

    async def ask(self, verb: str, **arguments: Any) -> Any:
        if self.down:
            raise StoreUnavailable("The plan store does not answer.")
        match verb:
            case "journal.read":
                events = await self.events(arguments["session_id"])
                page = [e for e in events if e.version > arguments["after"]][: arguments["limit"]]
                return {"events": [e.model_dump(mode="json", by_alias=True) for e in page], "version": len(events)}
            case "service.health":
                return {"database": "none", "sessions": 0}
        raise AssertionError(f"this fake has no answer to {verb}")


class World:
    """A gateway over fakes; `story` plays the services."""

    def __init__(self, **settings: Any) -> None:
        self.bus = FakeBus()
        self.log = self.bus.log
        self.store = FakeStore(self.log)
        self.settings = gateway_settings(**settings)
        self.app = build(self.settings, self.bus, self.store, self.log)

    def story(self, session_id: str) -> Conversation:
        return Conversation(self.log, session_id, "local")


def gateway_settings(**chosen: Any) -> Settings:
    """Settings of a gateway without login, with overrides."""
    names = ("parley_token", "parley_secret", "parley_api_keys", "parley_jwt_secret", "parley_metrics_token")
    secrets = {name: SecretStr(chosen.pop(name)) for name in names if name in chosen}
    return Settings().model_copy(update={"parley_auth": "none", "agent_host": "127.0.0.1"} | secrets | chosen)


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    """Serve the application on a free port. Returns `host:port`."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = UvicornConfig(app, app.state.gateway.settings, timeout_graceful_shutdown=1, lifespan="on")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        host, port = listening.getsockname()
        while not server.started and not running.done():  # noqa: ASYNC110  uvicorn offers no event to wait for
            await asyncio.sleep(0.005)
        yield f"{host}:{port}"
    finally:
        server.should_exit = True
        await running


class Client:
    """A WebSocket client that records every message, in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.received: list[dict[str, Any]] = []
        self.session_id = ""

    async def send(self, kind: str, **fields: Any) -> None:
        await self.connection.send(json.dumps({"type": kind} | fields))

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(WAIT_TIMEOUT):
            message: dict[str, Any] = json.loads(await self.connection.recv())
        self.received.append(message)
        return message

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The next message of this type with these fields; messages before it are only recorded."""
        while True:
            message = await self.next()
            if message["type"] == kind and all(message[name] == value for name, value in fields.items()):
                return message

    async def event(self, kind: str) -> dict[str, Any]:
        """The next stored event of this type."""
        while True:
            event: dict[str, Any] = (await self.until("event"))["event"]
            if event["type"] == kind:
                return event

    async def error(self, code: str) -> dict[str, Any]:
        """The next error, which must be this one."""
        message = await self.until("error")
        assert message["code"] == code, message
        return message

    async def closed(self) -> int | None:
        """Wait until the gateway closes the socket. Returns the close code."""
        try:
            while True:
                await self.next()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None

    @property
    def versions(self) -> list[int]:
        return [message["version"] for message in self.received if message["type"] == "event"]


@asynccontextmanager
async def client(address: str, path: str = "/ws", **options: Any) -> AsyncIterator[Client]:
    """A connected client that has received its greeting."""
    options = {"max_size": None, "max_queue": None, "open_timeout": None, "close_timeout": 1, "proxy": None} | options
    async with connect(f"ws://{address}{path}", **options) as connection:
        connected = Client(connection)
        connected.session_id = (await connected.until("greeting"))["session_id"]
        yield connected
