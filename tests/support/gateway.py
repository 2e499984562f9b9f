"""For the tests of the gateway: a bus in memory that can lose messages, the application on a real port, a client."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from services.gateway.app import MAX_FRAME, build
from services.gateway.ports import Subscription
from shared.bus import BusDown
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import AnyCommand
from shared.domain.session import Session
from shared.events import SessionEvent
from shared.events.values import Check, Step
from shared.log import Loaded, Log, NeedsParent, accept, commit
from shared.settings import Settings
from shared.store import StoreDown
from shared.testing import InMemoryLog, InMemoryStore

Handler = Callable[[str, bytes], Awaitable[None]]
STEPS = (Step(text="Ask for two numbers"), Step(text="Add them"), Step(text="Print the sum"))
CODE = "print(1.5 + 2)\n"
SECRET = "s" * 40
TOKEN = "let-me-in"


class FakeBus:
    """Core NATS in memory. `lossy`: the feed drops everything; `down`: not connected."""

    def __init__(self) -> None:
        self.down = self.lossy = False
        self.draft: bytes | None = None
        self.answers: dict[str, Callable[[bytes], bytes]] = {}
        self.kept: dict[str, bytes] = {}
        self.redeemed: set[str] = set()
        self.subscribed: list[tuple[str, Handler]] = []
        self._reconnected: list[Callable[[], Awaitable[None]]] = []

    @property
    def ready(self) -> bool:
        return not self.down

    async def start(self) -> None: ...
    async def stop(self) -> None: ...

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        self._reconnected.append(callback)

    async def reconnect(self) -> None:
        for callback in self._reconnected:
            await callback()

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        if not self.down and subject in self.answers:
            return self.answers[subject](data)
        if self.down or self.draft is None:
            raise BusDown(f"Nobody answers on {subject}.")
        return self.draft

    async def fetch(self, name: str) -> bytes | None:
        if self.down:
            raise BusDown("Not connected.")
        return self.kept.get(name)

    async def redeem(self, ticket_id: str) -> bool:
        if self.down:
            raise BusDown("Not connected.")
        first = ticket_id not in self.redeemed
        self.redeemed.add(ticket_id)
        return first

    async def subscribe(self, subject: str, handler: Handler) -> Subscription:
        if self.down:
            raise BusDown("Not connected.")
        entry = (subject.removesuffix(">"), handler)
        self.subscribed.append(entry)
        return _Subscription(lambda: self.subscribed.remove(entry))

    async def emit(self, subject: str, body: bytes) -> None:
        for prefix, handler in tuple(self.subscribed):
            if subject.startswith(prefix) and not (self.lossy and prefix.startswith("feed.")):
                await handler(subject, body)


class _Subscription:
    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    async def stop(self) -> None:
        self._stop()


class FeedingLog(InMemoryLog):
    """A log whose stored messages appear on the bus's feed, as the stream's republish does it."""

    def __init__(self, bus: FakeBus) -> None:
        super().__init__()
        self._bus = bus
        self._tasks: set[asyncio.Task[None]] = set()

    def publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        position = super().publish(subject, data, headers)
        task = asyncio.create_task(self._bus.emit(f"feed.{subject.removeprefix('session.')}", data))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return position


class FakeStore(InMemoryStore):
    """Loads and journals, folded from the log; `down`: nobody answers."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.down = False

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> Loaded:
        if self.down:
            raise StoreDown("The plan store does not answer.")
        return await super().load(session_id, at_least=at_least, version=version)

    async def events(self, session_id: str) -> list[SessionEvent]:
        """As in the journal: a fork's first event stands for its parent's."""
        found: list[SessionEvent] = []
        loaded = Loaded(Session(session_id), 0)
        for raw in await self._log.read(session_id):
            try:
                loaded, event, _ = accept(loaded, raw)
            except NeedsParent as fork:
                parent = await self.load(fork.parent, version=fork.version)
                loaded, event, _ = accept(loaded, raw, parent.session)
            found += [event] if event else []
        return found

    async def ask(self, verb: str, **arguments: Any) -> Any:
        if self.down:
            raise StoreDown("The plan store does not answer.")
        match verb:
            case "journal.read":
                events = await self.events(arguments["session_id"])
                wanted = [e for e in events if e.version > arguments["after"]][: arguments["limit"]]
                return {"events": [e.model_dump(mode="json", by_alias=True) for e in wanted], "version": len(events)}
            case "service.health":
                return {"database": "none", "sessions": 0}
        raise AssertionError(f"this fake has no answer to {verb}")


class World:
    """A gateway over fakes, and the services' side of its sessions."""

    def __init__(self, **settings: Any) -> None:
        self.bus = FakeBus()
        self.log = FeedingLog(self.bus)
        self.store = FakeStore(self.log)
        self.settings = gateway_settings(**settings)
        self.app = build(self.settings, self.bus, self.store, self.log)

    def workers(self, session_id: str) -> "Workers":
        return Workers(self.log, session_id)


def gateway_settings(**chosen: Any) -> Settings:
    """Of a gateway that everybody on this machine may use, unless something else is chosen."""
    names = ("parley_token", "parley_secret", "parley_api_keys")
    secrets = {name: SecretStr(chosen.pop(name)) for name in names if name in chosen}
    return Settings().model_copy(update={"parley_auth": "none", "agent_host": "127.0.0.1"} | secrets | chosen)


class Workers:
    """What the services do in one session, without them."""

    def __init__(self, log: Log, session_id: str) -> None:
        self.id, self._log = session_id, log

    async def session(self) -> Session:
        return (await InMemoryStore(self._log).load(self.id)).session

    async def does(self, command: AnyCommand) -> SessionEvent:
        """The service whose turn it is gives this command."""
        loaded = await InMemoryStore(self._log).load(self.id)
        work = loaded.session.work
        by = By(work.service if work else "executor", datetime.now(UTC), work=work)
        if isinstance(command, c.Spend):
            by = By("planner", datetime.now(UTC), id=uuid4().hex[:12])
        return (await commit(self._log, loaded, command, by))[1]

    async def person(self, command: AnyCommand, name: str = "local") -> SessionEvent:
        """Somebody acts through another gateway."""
        loaded = await InMemoryStore(self._log).load(self.id)
        by = By(f"user:{name}", datetime.now(UTC), uuid4().hex[:12])
        return (await commit(self._log, loaded, command, by))[1]

    async def drafts(self, goal: str = "A calculator", steps: tuple[Step, ...] = STEPS) -> SessionEvent:
        return await self.does(c.DraftPlan(goal=goal, steps=steps))

    async def codes(self, code: str = CODE) -> None:
        """The generator writes code, and the verifier finds it well."""
        await self.does(c.DraftCode(code=code, explanation="It adds."))
        await self.does(c.VerifyCode(checks=(Check(name="tests", ok=True),), tests="def test(): ..."))

    async def plan(self, text: str = "Help me create a simple calculator", owner: str = "local") -> Session:
        """A new session with a plan in review."""
        await self.person(c.Say(text=text), owner)
        await self.drafts()
        return await self.session()


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    """The application on a free port of this machine; its `host:port`."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, access_log=False, ws_max_size=MAX_FRAME, timeout_graceful_shutdown=1, lifespan="on"
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        host, port = listening.getsockname()
        async with asyncio.timeout(10):
            while not server.started:  # noqa: ASYNC110  uvicorn offers no event to wait for
                await asyncio.sleep(0.005)
        yield f"{host}:{port}"
    finally:
        server.should_exit = True
        await running


class Client:
    """A program on the WebSocket; everything it hears is kept, in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.heard: list[dict[str, Any]] = []
        self.session_id = ""

    async def send(self, kind: str, **fields: Any) -> None:
        await self.connection.send(json.dumps({"type": kind} | fields))

    async def next(self, *, seconds: float = 20) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            message: dict[str, Any] = json.loads(await self.connection.recv())
        self.heard.append(message)
        return message

    async def until(self, kind: str, *, seconds: float = 20, **fields: Any) -> dict[str, Any]:
        """The next message of this type with these fields; what comes before it is kept in `heard`."""
        while True:
            message = await self.next(seconds=seconds)
            if message["type"] == kind and all(message[name] == value for name, value in fields.items()):
                return message

    async def event(self, kind: str, *, seconds: float = 20) -> dict[str, Any]:
        """The next stored event of this type."""
        while True:
            event: dict[str, Any] = (await self.until("event", seconds=seconds))["event"]
            if event["type"] == kind:
                return event

    async def error(self, code: str) -> dict[str, Any]:
        """The next error, which must be this one."""
        found = await self.until("error")
        assert found["code"] == code, found
        return found

    async def closed(self, *, seconds: float = 20) -> int | None:
        """The code with which the gateway closes the socket."""
        try:
            while True:
                await self.next(seconds=seconds)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None

    @property
    def versions(self) -> list[int]:
        return [message["version"] for message in self.heard if message["type"] == "event"]


@asynccontextmanager
async def client(address: str, path: str = "/ws", **options: Any) -> AsyncIterator[Client]:
    """A client that has been greeted."""
    options = {"max_size": None, "max_queue": None, "close_timeout": 1, "proxy": None} | options
    async with connect(f"ws://{address}{path}", **options) as connection:
        found = Client(connection)
        found.session_id = (await found.until("greeting"))["session_id"]
        yield found
