"""Lets a REST request wait until its session is idle: it waits for a person, or has nothing to do."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from starlette.requests import Request

from services.gateway.access.quota import Quota
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError, as_api_error
from services.gateway.live.hub import Hub
from services.gateway.live.send_queue import SendQueue
from services.gateway.live.subscription import ChannelSubscription
from shared.domain.session import Session

KEEPALIVE_SECONDS = 15.0  # a silent stream yields "" so often


class Follower:
    """Subscribes to a session's channel on construction. Always call `leave`."""

    def __init__(self, hub: Hub, session_id: str, user: User, quota: Quota) -> None:
        self.session_id = session_id
        self._hub = hub
        self._queue = SendQueue(quota)
        self.channel = hub.join(session_id)
        self._subscription = ChannelSubscription(user, self.channel, self._queue)

    async def refresh(self) -> Session:
        """The session as it is now; later events are queued. Raises ApiError or one of UNAVAILABLE."""
        session = await self.channel.refresh()
        self._subscription.go_live(session.version)
        return session

    async def messages_until_idle(self, version: int, timeout: float) -> AsyncIterator[str]:  # noqa: ASYNC109  named in the error
        """The session's messages as JSON, until it is idle at this version or later; "" as a keepalive.

        Raises ApiError(timed_out, slow_down, upgrade_needed).
        """
        self._hub.wake(self.session_id)
        deadline = time.monotonic() + timeout
        while not (self._queue.is_empty and self._is_idle_at(version)):
            if self.channel.upgrade_needed and (error := as_api_error(self.channel.upgrade_needed)):
                raise error
            if self._queue.overflowed.is_set():
                raise ApiError(
                    "slow_down", "You read too slowly.", "The session continues.", session_id=self.session_id
                )
            remaining = deadline - time.monotonic()
            try:
                async with asyncio.timeout(min(remaining, KEEPALIVE_SECONDS)):
                    outgoing = await self._queue.get()
                yield outgoing.body.decode()
            except TimeoutError:
                if remaining <= KEEPALIVE_SECONDS:
                    raise self._timed_out(timeout) from None
                yield ""

    async def wait_until_idle(self, version: int, timeout: float) -> Session:  # noqa: ASYNC109  named in the error
        """The session once it is idle at this version or later. Raises as `messages_until_idle`."""
        async for _ in self.messages_until_idle(version, timeout):
            pass
        return self.session

    @property
    def session(self) -> Session:
        """The last known state."""
        return self.channel.session or Session(self.session_id)

    def leave(self) -> None:
        self._queue.close()
        self._hub.leave_later(self.session_id, self._subscription)

    def _is_idle_at(self, version: int) -> bool:
        return self.session.version >= version and not self.session.is_working

    def _timed_out(self, seconds: float) -> ApiError:
        return ApiError(
            "timed_out",
            f"After {seconds:g} s the session {self.session_id} is {self.session.phase}. It continues.",
            f"See what becomes of it at /api/sessions/{self.session_id}, or open it in the page.",
            session_id=self.session_id,
        )


async def while_connected[T](request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`. Cancels it and raises ApiError when the client disconnects."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ApiError("timed_out", "The client has disconnected; the session continues.")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
