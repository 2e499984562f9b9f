"""Load: hundreds of sessions with a simulated user each, a limited number at a time."""

import asyncio
from collections import Counter

import structlog

from chaos.deployment import Deployment
from chaos.simulated_user import SimulatedUser
from chaos.user_scripts import UserScripts
from packs.retail.generate import generate
from parley.events import SessionEvent

log = structlog.get_logger("chaos")


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
