"""The channels of this process: one for each open session, and waiting until a session is idle."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from starlette.requests import Request

from services.gateway.access.quota import Quota
from services.gateway.access.users import User
from services.gateway.api_errors import UNAVAILABLE, ApiError, as_api_error
from services.gateway.live.channel import POLL_SECONDS, Listener, SessionChannel
from services.gateway.live.subscription import ChannelSubscription, SendQueue
from services.gateway.ports import Core
from shared.domain.kernel.session import Session
from shared.log import UpgradeNeeded
from shared.retry import retry_while_unavailable

KEEPALIVE_SECONDS = 15.0  # a silent stream yields "" so often

log_ = structlog.get_logger("hub")


class Hub:
    """The channels of this process. A channel exists while it has subscribers."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._channels: dict[str, SessionChannel] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._watches: dict[tuple[Quota, str], asyncio.Task[None]] = {}
        core.bus.on_reconnect(self._wake_all)

    def join(self, session_id: str) -> SessionChannel:
        """The session's channel, until `leave`. `SessionChannel.refresh` loads it."""
        channel = self._channels.get(session_id)
        if channel is None:
            channel = self._channels[session_id] = SessionChannel(session_id, self._core)
        channel.subscribers += 1
        return channel

    async def leave(self, session_id: str, listener: Listener | None = None) -> None:
        channel = self._channels[session_id]
        if listener:
            channel.listeners.discard(listener)
        channel.subscribers -= 1
        if channel.subscribers == 0:
            del self._channels[session_id]
            await channel.close()

    def leave_later(self, session_id: str, listener: Listener | None = None) -> None:
        """Leave in the background: a cancelled task cannot await."""
        task = asyncio.create_task(self.leave(session_id, listener))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    @asynccontextmanager
    async def following(self, session_id: str, *, new: bool = False) -> AsyncIterator[SessionChannel]:
        """The session's loaded channel, for one message; `new`: this process has just made up the id."""
        channel = self.join(session_id)
        try:
            await (channel.begin() if new else channel.refresh())
            yield channel
        finally:
            self.leave_later(session_id)

    def wake(self, session_id: str) -> None:
        """Read the log now: this process has appended an event, and need not wait for the feed."""
        if channel := self._channels.get(session_id):
            channel.wake()

    def loaded_channel(self, session_id: str) -> SessionChannel | None:
        """The session's channel, if it is open and loaded."""
        channel = self._channels.get(session_id)
        return channel if channel and channel.loaded else None

    def watch(self, session_id: str, quota: Quota) -> None:
        """Follow the session until no service works on it: until then it counts towards the quota."""
        if (quota, session_id) not in self._watches:
            watch = self._watch_until_idle(self.join(session_id), session_id, quota)
            self._watches[quota, session_id] = asyncio.create_task(watch)

    async def _watch_until_idle(self, channel: SessionChannel, session_id: str, quota: Quota) -> None:
        try:
            if channel.loaded is None:
                await _open(channel)
            while not channel.upgrade_needed and not _is_idle(
                channel.session, quota.working_sessions.get(session_id, 0)
            ):
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await channel.changed()
        except (ApiError, UpgradeNeeded) as gone:
            log_.info("not_watched", session_id=session_id, error=repr(gone))
        finally:
            quota.finish_work(session_id)
            del self._watches[quota, session_id]  # without a wait before: the next event may start work again
            self.leave_later(session_id)

    async def close(self) -> None:
        """Stop watching all sessions."""
        tasks = tuple(self._watches.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._leaving, return_exceptions=True)

    async def _wake_all(self) -> None:
        for channel in self._channels.values():
            channel.wake()


@retry_while_unavailable(*UNAVAILABLE, longest=POLL_SECONDS)
async def _open(channel: SessionChannel) -> None:
    await channel.refresh()


def _is_idle(session: Session | None, version: int) -> bool:
    """Whether no service has work in the session, at this version or later."""
    return session is not None and session.version >= version and not session.works


class Follower:
    """Subscribes to a session's channel on construction. Always call `leave`."""

    def __init__(self, hub: Hub, session_id: str, user: User, quota: Quota, *, new: bool = False) -> None:
        """`new`: this process has just made up the id."""
        self.session_id = session_id
        self._new = new
        self._hub = hub
        self._queue = SendQueue(quota)
        self.channel = hub.join(session_id)
        self._subscription = ChannelSubscription(user, self.channel, self._queue)

    async def refresh(self) -> Session:
        """The session as it is now; later events are queued. Raises ApiError or one of UNAVAILABLE."""
        session = await self.channel.begin() if self._new else (await self.channel.refresh()).session
        self._subscription.go_live(session.version)
        return session

    async def messages_until_idle(self, version: int, timeout: float) -> AsyncIterator[str]:  # noqa: ASYNC109  named in the error
        """The session's messages as JSON, until it is idle at this version or later; "" as a keepalive.

        Raises ApiError(timed_out, slow_down, upgrade_needed).
        """
        if self.session.version < version:
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
