"""Follows sessions for clients: one channel for each session that is open in this process.

A message on the feed only wakes a channel. Events come from the log itself, read after the channel's position and
checked by `shared.log.accept`. A lost or forged feed message, or a restart of NATS, cannot make a screen wrong: only
late, by at most POLL_SECONDS.
"""

import asyncio
from contextlib import suppress
from typing import Protocol

import structlog
from pydantic import ValidationError

from parley.events import SessionEvent
from parley.protocol.server import Delta
from services.gateway.access.quota import Quota
from services.gateway.api_errors import UNAVAILABLE, ApiError, as_api_error, error_message
from services.gateway.live.audience import Audience, EventMessages
from services.gateway.ports import DRAFT_WAIT, BusSubscription, Core, load, request_draft
from services.gateway.views.screen_messages import work_version
from shared.domain.session import Session
from shared.log import SessionAtPosition, StoredMessage, UpgradeNeeded, accept
from shared.retry import retry_while_unavailable

POLL_SECONDS = 5.0  # an open session's log is read at least this often
LATE_DRAFT_WAIT = 10.0  # seconds until a request for a draft ends; listeners get an answer that missed the snapshot
PAGE_SIZE = 200

log_ = structlog.get_logger("hub")


class Listener(Protocol):
    """A receiver of a session's messages. Its methods must not block."""

    def audience(self, session: Session) -> Audience: ...
    def on_event(self, messages: EventMessages) -> None: ...
    def on_delta(self, body: bytes) -> None: ...
    def on_error(self, body: bytes) -> None: ...


class SessionChannel:
    """One open session: its last known state, and its listeners."""

    def __init__(self, session_id: str, core: Core) -> None:
        self.listeners: set[Listener] = set()
        self.subscribers = 0
        self.id = session_id
        self._core = core
        self._loaded: SessionAtPosition | None = None
        self._subscriptions: list[BusSubscription] = []
        self._woken = asyncio.Event()
        self._change = asyncio.Event()
        self._lock = asyncio.Lock()
        self._follow_task: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[Delta | None]] = set()
        self.upgrade_needed: UpgradeNeeded | None = None  # set if this release cannot read the session's newer events

    async def refresh(self) -> Session:
        """The current session, after all new events have been sent to the listeners.

        Raises ApiError, UpgradeNeeded or one of UNAVAILABLE.
        """
        return (await self.newest()).session

    async def newest(self) -> SessionAtPosition:
        """The current session with its position in the log. Raises as `refresh`."""
        return await self._core.read_through_election(self._newest)

    async def _newest(self) -> SessionAtPosition:
        try:
            return await self._catch_up()
        except UpgradeNeeded as newer:
            if self.upgrade_needed is None:
                self.upgrade_needed = newer
                self._notify_upgrade(newer)
            raise

    async def _catch_up(self) -> SessionAtPosition:
        async with self._lock:
            if self._loaded is None:
                await self._subscribe()
                self._loaded = await load(self._core, self.id)
            more = True
            while more:
                tail = await self._core.log.read(self.id, after=self._loaded.position, limit=PAGE_SIZE, leader=True)
                for raw in tail:
                    await self._apply(raw, self._loaded)
                more = len(tail) == PAGE_SIZE
            return self._loaded

    @property
    def loaded(self) -> SessionAtPosition | None:
        """The last known state with its position in the log; None before the first load."""
        return self._loaded

    @property
    def session(self) -> Session | None:
        """The last known state; None before the first load."""
        return self._loaded.session if self._loaded else None

    def wake(self) -> None:
        self._woken.set()

    async def changed(self) -> None:
        """Wait for the next log message, whether or not it was accepted as an event."""
        await self._change.wait()

    async def draft(self) -> Delta | None:
        """The draft that a service is writing; None if none answers within DRAFT_WAIT. Listeners get a later answer."""
        request = asyncio.create_task(request_draft(self._core, self.id, seconds=LATE_DRAFT_WAIT))
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
        await asyncio.wait({request}, timeout=DRAFT_WAIT)
        if request.done():
            return request.result()
        request.add_done_callback(self._send_late)
        return None

    def _send_late(self, request: asyncio.Task[Delta | None]) -> None:
        if not request.cancelled() and (draft := request.result()):
            self._send_delta(draft)

    async def close(self) -> None:
        tasks = [*self._requests, *([self._follow_task] if self._follow_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for subscription in self._subscriptions:
            await subscription.stop()

    async def _subscribe(self) -> None:
        """Subscribe to feed and drafts. Done before the first load, so that no event is missed."""
        subjects = ((f"feed.{self.id}.>", self._on_feed), (f"delta.{self.id}.>", self._on_delta))
        for subject, handler in subjects[len(self._subscriptions) :]:
            self._subscriptions.append(await self._core.bus.subscribe(subject, handler))
        if self._follow_task is None:
            self._follow_task = asyncio.create_task(self._follow(), name=f"channel {self.id}")

    async def _on_feed(self, subject: str, body: bytes) -> None:
        self.wake()

    async def _on_delta(self, subject: str, body: bytes) -> None:
        try:
            delta = Delta.model_validate_json(body)
        except ValidationError:
            return  # not a draft of this protocol
        if delta.session_id == self.id:
            if self._loaded is None or self._loaded.session.version < work_version(delta):
                # Clients drop a draft of work that they have not heard of: the event that began it comes first.
                with suppress(*UNAVAILABLE, ApiError, UpgradeNeeded):
                    await self.refresh()
            self._send_delta(delta)

    def _send_delta(self, delta: Delta) -> None:
        for audience, listeners in self._listeners_by_audience(self.session or Session(self.id)).items():
            body = audience.delta(delta)
            for listener in listeners:
                listener.on_delta(body)

    async def _follow(self) -> None:
        """Read the log whenever woken, and every POLL_SECONDS in any case."""
        while True:
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()
            try:
                await self._newest()
            except (*UNAVAILABLE, ApiError, UpgradeNeeded) as error:
                log_.warning("cannot_follow", session_id=self.id, error=repr(error))
            except Exception:  # a bug that one event triggers must not end the following of later ones
                log_.exception("cannot_follow", session_id=self.id)

    async def _apply(self, stored: StoredMessage, loaded: SessionAtPosition) -> None:
        after, event, _ = accept(loaded, stored)
        self._loaded = after
        if event:
            self._notify(loaded.session, event, after.session)
        self._change.set()
        self._change = asyncio.Event()

    def _notify(self, before: Session, event: SessionEvent, after: Session) -> None:
        for audience, listeners in self._listeners_by_audience(after).items():
            messages = audience.event(before, event, after)
            for listener in listeners:
                listener.on_event(messages)

    def _listeners_by_audience(self, session: Session) -> dict[Audience, list[Listener]]:
        """The listeners by audience, so that each message is built only once."""
        groups: dict[Audience, list[Listener]] = {}
        for listener in self.listeners:
            groups.setdefault(listener.audience(session), []).append(listener)
        return groups

    def _notify_upgrade(self, newer: UpgradeNeeded) -> None:
        """Tell the listeners why no more events come."""
        if error := as_api_error(newer):
            body = error_message(error, self.id).model_dump_json(by_alias=True).encode()
            for listener in tuple(self.listeners):
                listener.on_error(body)
        self._change.set()
        self._change = asyncio.Event()


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
            self._watches[quota, session_id] = asyncio.create_task(self._watch_until_idle(session_id, quota))

    async def _watch_until_idle(self, session_id: str, quota: Quota) -> None:
        channel = self.join(session_id)
        try:
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
