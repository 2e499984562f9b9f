"""Load: hundreds of sessions with a simulated user each, a limited number at a time; and a storm of reconnects."""

import asyncio
import random
from collections import Counter

import structlog

from chaos.deployment import Deployment
from chaos.reconnecting_client import ReconnectingClient, SocketRecord
from chaos.simulated_user import SimulatedUser
from chaos.user_scripts import UserScripts
from packs.retail.generate import generate
from parley.events import SessionEvent

log = structlog.get_logger("chaos")
STORM_SOCKETS, STORM_USERS = 100, 50
MAX_STORM_SECONDS = 6.0  # for each socket


class Load:
    """New users arrive from `start` until `close`. Those in a session then still finish it."""

    def __init__(self, deployment: Deployment, *, seed: int, concurrency: int, max_sessions: int) -> None:
        self.users: list[SimulatedUser] = []
        self._deployment, self._concurrency, self._max_sessions = deployment, concurrency, max_sessions
        self._scripts = UserScripts(seed, generate())
        self._open = True
        self._workers: list[asyncio.Task[None]] = []
        self._waiting: dict[str, list[asyncio.Event]] = {}

    async def wait_for_event(self, kind: str) -> None:
        """Wait until any user receives an event of this type."""
        received = asyncio.Event()
        self._waiting.setdefault(kind, []).append(received)
        await received.wait()

    def _on_event(self, event: SessionEvent) -> None:
        for waiting in self._waiting.pop(event.type, ()):
            waiting.set()

    def start(self) -> None:
        self._workers = [asyncio.create_task(self._run_users()) for _ in range(self._concurrency)]

    def close(self) -> None:
        """Let no more users arrive."""
        self._open = False

    async def wait_until_ended(self, seconds: float) -> None:
        """Wait until all users have finished, and cancel the others after the timeout."""
        if self._workers:
            _, late = await asyncio.wait(self._workers, timeout=seconds)
            for worker in late:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    async def _run_users(self) -> None:
        while self._open and len(self.users) < self._max_sessions:
            user = SimulatedUser(self._scripts.script(len(self.users)), self._deployment.gateway_urls)
            user.client.on_event = self._on_event
            self.users.append(user)
            try:
                await user.run()
            except Exception as error:  # the next user still comes; invariant I5 reports this one
                log.exception("person_gave_up", session_id=user.script.session_id)
                user.record_error(repr(error))

    @property
    def all_users(self) -> list[SimulatedUser]:
        """All users, also those in forks."""
        return [member for user in self.users for member in (user, user.fork) if member]

    @property
    def errors(self) -> Counter[str]:
        """Refusals by the gateways, by code."""
        return sum((user.client.recorder.errors + user.refusals for user in self.all_users), Counter())


async def reconnect_storm(load: Load, urls: list[str], rng: random.Random) -> list[SocketRecord]:
    """Drop the recent users' sockets, resume their sessions after random versions, and return what was received.

    The invariants judge what a socket received; one that does not catch up in time is no failure.
    """
    clients = [user.client for user in load.users[-STORM_USERS:] if user.client.version]
    for client in clients:
        client.drop()
    if not clients:
        return []
    resumptions = []
    for _ in range(STORM_SOCKETS):
        client = rng.choice(clients)
        after, session_id = rng.randint(0, client.version), client.recorder.session_id
        again = ReconnectingClient([rng.choice(urls)], session_id, rng, is_begun=True, after=after)
        resumptions.append(_resume(again, client.version))
    return [record for records in await asyncio.gather(*resumptions) for record in records]


async def _resume(client: ReconnectingClient, until: int) -> list[SocketRecord]:
    """What the client receives until this version, or until the time limit."""
    async with client:
        await client.wait_until(lambda: client.version >= until, MAX_STORM_SECONDS)
    return client.recorder.records
