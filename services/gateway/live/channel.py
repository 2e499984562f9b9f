"""One open session, followed for clients: its last known state, and those who get its events.

An event that this process appends is folded once, by `SessionChannel.commit`, and sent on from there. A message on the
feed only wakes a channel that does not have its version yet. Other events come from the log itself, read after the
channel's position and checked by `shared.log.accept`. A lost or forged feed message, or a restart of NATS, cannot make
a screen wrong: only late, by POLL_SECONDS as a rule.
"""

import asyncio
import math
from contextlib import suppress
from typing import Protocol

import structlog
from pydantic import ValidationError

from parley.events import SessionEvent
from parley.events.envelope import read_head
from parley.protocol.server import Delta
from services.gateway.api_errors import UNAVAILABLE, ApiError, as_api_error, error_message
from services.gateway.live.audience import Audience, EventMessages
from services.gateway.ports import DRAFT_WAIT, Core, load, request_draft
from services.gateway.views.screen_messages import work_version
from shared.bus import Subscription
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from shared.log import SessionAtPosition, SessionLog, StoredMessage, UpgradeNeeded, accept, commit

POLL_SECONDS = 5.0  # after so long without a read an open session's log is read, whatever the feed says
LATE_DRAFT_WAIT = 10.0  # seconds until a request for a draft ends; listeners get an answer that missed the snapshot
PAGE_SIZE = 200

log_ = structlog.get_logger("channel")


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
        self._subscriptions: list[Subscription] = []
        self._woken = asyncio.Event()
        self._wanted_version = 0.0  # the highest that was asked for since the last read
        self._change = asyncio.Event()
        self._lock = asyncio.Lock()
        self._follow_task: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[Delta | None]] = set()
        self.upgrade_needed: UpgradeNeeded | None = None  # set if this release cannot read the session's newer events

    async def refresh(self) -> SessionAtPosition:
        """The current session, after all new events have been sent to the listeners.

        Raises ApiError, UpgradeNeeded or one of UNAVAILABLE.
        """
        return await self._core.read_through_election(self._read)

    async def begin(self) -> Session:
        """The empty session of an id that this process has just made up: nothing is read.

        Should the session exist after all, the guard of the first append refuses it.
        """
        async with self._lock:
            await self._subscribe()
            if self._loaded is None:
                self._loaded = SessionAtPosition(Session(self.id), 0)
            return self._loaded.session

    async def commit(
        self,
        log: SessionLog,
        loaded: SessionAtPosition,
        command: AnyCommand,
        meta: CommandMeta,
        *,
        timeout: float,  # noqa: ASYNC109  as in `shared.log.commit`
    ) -> tuple[SessionAtPosition, SessionEvent]:
        """As `shared.log.commit`; the listeners get the event at once, and it is not read from the log again."""
        async with self._lock:  # the feed may be faster than the answer to the append
            after, event = await commit(log, loaded, command, meta, timeout=timeout)
            is_next = event.version == after.session.version == loaded.session.version + 1
            if is_next and self._loaded and self._loaded.position == loaded.position:
                self._advance(event, after)
            else:
                self.wake()
        return after, event

    async def _read(self, version: float = math.inf) -> SessionAtPosition:
        """The session, after reading the log unless it is already at this version."""
        try:
            async with self._lock:
                if self._loaded is None:
                    await self._subscribe()
                    self._loaded = await load(self._core, self.id)
                more = self._loaded.session.version < version
                while more:
                    tail = await self._core.log.read(self.id, after=self._loaded.position, limit=PAGE_SIZE, leader=True)
                    for raw in tail:
                        self._apply(raw, self._loaded)
                    more = len(tail) == PAGE_SIZE
                return self._loaded
        except UpgradeNeeded as newer:
            if self.upgrade_needed is None:
                self.upgrade_needed = newer
                self._notify_upgrade(newer)
            raise

    @property
    def loaded(self) -> SessionAtPosition | None:
        """The last known state with its position in the log; None before the first load."""
        return self._loaded

    @property
    def session(self) -> Session | None:
        """The last known state; None before the first load."""
        return self._loaded.session if self._loaded else None

    def wake(self, version: float = math.inf) -> None:
        """Read the log, unless the session has this version."""
        self._wanted_version = max(self._wanted_version, version)
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
        head = read_head(body)
        self.wake(head.version if head else math.inf)

    async def _on_delta(self, subject: str, body: bytes) -> None:
        try:
            delta = Delta.model_validate_json(body)
        except ValidationError:
            return  # not a draft of this protocol
        if delta.session_id == self.id:
            if self._loaded is None or self._loaded.session.version < work_version(delta):
                # Clients drop a draft of work that they have not heard of: the event that began it comes first.
                with suppress(*UNAVAILABLE, ApiError, UpgradeNeeded):
                    await self._read(work_version(delta))
            self._send_delta(delta)

    def _send_delta(self, delta: Delta) -> None:
        for audience, listeners in self._listeners_by_audience(self.session or Session(self.id)).items():
            body = audience.delta(delta)
            for listener in listeners:
                listener.on_delta(body)

    async def _follow(self) -> None:
        """Read the log when a version is missing, and when it was not read for POLL_SECONDS."""
        now = asyncio.get_running_loop().time
        read_at = now()
        while True:
            try:
                async with asyncio.timeout_at(read_at + POLL_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                self._wanted_version = math.inf
            version, self._wanted_version = self._wanted_version, 0.0
            self._woken.clear()
            if self._loaded and self._loaded.session.version >= version:
                continue  # the signal of an event that is here already says nothing of others
            try:
                await self._read(version)
            except (*UNAVAILABLE, ApiError, UpgradeNeeded) as error:
                log_.warning("cannot_follow", session_id=self.id, error=repr(error))
            except Exception:  # a bug that one event triggers must not end the following of later ones
                log_.exception("cannot_follow", session_id=self.id)
            read_at = now()

    def _apply(self, stored: StoredMessage, loaded: SessionAtPosition) -> None:
        after, event, _ = accept(loaded, stored)
        self._advance(event, after)

    def _advance(self, event: SessionEvent | None, after: SessionAtPosition) -> None:
        """Set the state, and notify the listeners of the event that led to it, if the message was one."""
        before, self._loaded = self.session or Session(self.id), after
        if event:
            self._notify(before, event, after.session)
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
