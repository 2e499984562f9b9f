"""A request that waits for its session: on the feed like a socket, until the session asks a person or rests."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from starlette.requests import Request

from services.gateway.access.quota import Quota
from services.gateway.access.users import User
from services.gateway.live.hub import Hub
from services.gateway.live.outbox import Outbox
from services.gateway.live.subscription import ChannelSubscription
from services.gateway.trouble import Trouble, as_trouble
from shared.domain.session import SERVICE_OF, Session

SILENCE = 15.0  # seconds after which a stream says that it is still there


class Follower:
    """In the session's channel from the beginning; `leave` it in any case."""

    def __init__(self, hub: Hub, session_id: str, user: User, quota: Quota) -> None:
        self.session_id = session_id
        self._hub = hub
        self._outbox = Outbox(quota)
        self.channel = hub.enter(session_id)
        self._subscription = ChannelSubscription(user, self.channel, self._outbox)

    async def look(self) -> Session:
        """The session as it is now; from here on nothing is missed. Raises Trouble or one of AWAY."""
        session = await self.channel.fresh()
        self._subscription.release(session.version)
        return session

    async def letters(self, version: int, timeout: float) -> AsyncIterator[str]:  # noqa: ASYNC109  told to clients
        """What is told about the session, until it asks or rests, at this version or later; "" after a silence.

        Raises Trouble(timed_out, slow_down, upgrade_needed).
        """
        self._hub.nudge(self.session_id)
        ends = time.monotonic() + timeout
        while not (self._outbox.empty and self._came_to(version)):
            if self.channel.newer and (trouble := as_trouble(self.channel.newer)):
                raise trouble
            if self._outbox.overflowed.is_set():
                raise Trouble("slow_down", "You read too slowly.", "The session goes on.", session_id=self.session_id)
            left = ends - time.monotonic()
            try:
                async with asyncio.timeout(min(left, SILENCE)):
                    outgoing = await self._outbox.get()
                yield outgoing.body.decode()
            except TimeoutError:
                if left <= SILENCE:
                    raise self._too_late(timeout) from None
                yield ""

    async def come_to(self, version: int, timeout: float) -> Session:  # noqa: ASYNC109  told to clients
        """The session when it asks or rests, at this version or later. Raises as `letters`."""
        async for _ in self.letters(version, timeout):
            pass
        return self.session

    @property
    def session(self) -> Session:
        """As last heard."""
        return self.channel.session or Session(self.session_id)

    def leave(self) -> None:
        self._outbox.close()
        self._hub.depart(self.session_id, self._subscription)

    def _came_to(self, version: int) -> bool:
        return self.session.version >= version and self.session.phase not in SERVICE_OF

    def _too_late(self, seconds: float) -> Trouble:
        return Trouble(
            "timed_out",
            f"After {seconds:g} s the session {self.session_id} is {self.session.phase}. It goes on.",
            f"See what becomes of it at /api/sessions/{self.session_id}, or open it in the page.",
            session_id=self.session_id,
        )


async def while_connected[T](request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What `work` comes to. It is cancelled, and Trouble raised, when the client leaves."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Trouble("timed_out", "You have left; the session goes on.")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
