"""The feed, shared out: one channel for each session that is open in this process, whoever looks at it.

A message on the feed is only a nudge. What is told comes from the log itself, read after the position the channel is at
and accepted by the one rule of shared.log: a lost nudge, a foreign message or a restart of NATS cannot make a screen
wrong, only late, and never by more than `POLL` seconds.
"""

import asyncio
from contextlib import suppress
from typing import Protocol

import structlog
from pydantic import ValidationError

from parley.events import SessionEvent
from parley.protocol.server import Delta
from services.gateway.access.quota import Quota
from services.gateway.live.audience import Audience, EventMessages
from services.gateway.ports import Core, Subscription, load
from services.gateway.trouble import AWAY, Trouble, as_trouble, error_message
from shared.bus.errors import BusDown, MessageTooLarge
from shared.domain.session import Session
from shared.log import SessionAtPosition, StoredMessage, UpgradeNeeded, accept
from shared.retry import retry_while_unavailable

POLL = 5.0  # seconds between two looks at the log of an open session, nudged or not
DRAFT_WAIT = 0.15  # seconds that a snapshot waits for what is being drafted
PAGE = 200

log_ = structlog.get_logger("hub")


class Listener(Protocol):
    """Somebody who looks at a session. No method may wait."""

    def audience(self, session: Session) -> Audience: ...
    def heard(self, told: EventMessages) -> None: ...
    def heard_delta(self, body: bytes) -> None: ...
    def heard_error(self, body: bytes) -> None: ...


class Channel:
    """One open session: the session as last heard, and those who listen."""

    def __init__(self, session_id: str, core: Core) -> None:
        self.listeners: set[Listener] = set()
        self.subscribers = 0
        self.id = session_id
        self._core = core
        self._loaded: SessionAtPosition | None = None
        self._subscriptions: list[Subscription] = []
        self._nudged = asyncio.Event()
        self._moved = asyncio.Event()
        self._lock = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None
        self.newer: UpgradeNeeded | None = None  # why it does not go on here

    async def fresh(self) -> Session:
        """The newest session; whatever is new has been told to the listeners.

        Raises Trouble, UpgradeNeeded or one of AWAY.
        """
        return (await self.newest()).session

    async def newest(self) -> SessionAtPosition:
        """The same with its position in the log."""
        return await self._core.patiently(self._newest)

    async def _newest(self) -> SessionAtPosition:
        try:
            return await self._read_on()
        except UpgradeNeeded as newer:
            if self.newer is None:
                self.newer = newer
                self._tell_upgrade(newer)
            raise

    async def _read_on(self) -> SessionAtPosition:
        async with self._lock:
            if self._loaded is None:
                await self._listen()
                self._loaded = await load(self._core, self.id)
            more = True
            while more:
                tail = await self._core.log.read(self.id, after=self._loaded.position, limit=PAGE, leader=True)
                for raw in tail:
                    await self._take(raw, self._loaded)
                more = len(tail) == PAGE
            return self._loaded

    @property
    def loaded(self) -> SessionAtPosition | None:
        """As last heard, with its position in the log."""
        return self._loaded

    @property
    def session(self) -> Session | None:
        """As last heard."""
        return self._loaded.session if self._loaded else None

    def nudge(self) -> None:
        self._nudged.set()

    async def moved(self) -> None:
        """Until the next event, or what looked like one."""
        await self._moved.wait()

    async def close(self) -> None:
        if self._keeper:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        for subscription in self._subscriptions:
            await subscription.stop()

    async def _listen(self) -> None:
        """Subscribed before the first load, so that nothing falls in between."""
        wanted = ((f"feed.{self.id}.>", self._on_feed), (f"delta.{self.id}.>", self._on_delta))
        for subject, handler in wanted[len(self._subscriptions) :]:
            self._subscriptions.append(await self._core.bus.subscribe(subject, handler))
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name=f"channel {self.id}")

    async def _on_feed(self, subject: str, body: bytes) -> None:
        self.nudge()

    async def _on_delta(self, subject: str, body: bytes) -> None:
        try:
            delta = Delta.model_validate_json(body)
        except ValidationError:
            return  # not of this protocol: nobody's draft
        if delta.session_id == self.id:
            for audience, listeners in self._audiences(self.session or Session(self.id)).items():
                body = audience.delta(delta)
                for listener in listeners:
                    listener.heard_delta(body)

    async def _keep(self) -> None:
        """Follow the log: at once when nudged, and now and then in any case."""
        while True:
            try:
                async with asyncio.timeout(POLL):
                    await self._nudged.wait()
            except TimeoutError:
                pass
            self._nudged.clear()
            try:
                await self._newest()
            except (*AWAY, Trouble, UpgradeNeeded) as error:
                log_.warning("cannot_follow", session_id=self.id, error=repr(error))
            except Exception:  # a fault of ours in one event must not end the telling of all later ones
                log_.exception("cannot_follow", session_id=self.id)

    async def _take(self, raw: StoredMessage, loaded: SessionAtPosition) -> None:
        after, event, _ = accept(loaded, raw)
        self._loaded = after
        if event:
            self._tell(loaded.session, event, after.session)
        self._moved.set()
        self._moved = asyncio.Event()

    def _tell(self, before: Session, event: SessionEvent, after: Session) -> None:
        for audience, listeners in self._audiences(after).items():
            told = audience.event(before, event, after)
            for listener in listeners:
                listener.heard(told)

    def _audiences(self, session: Session) -> dict[Audience, list[Listener]]:
        """Whoever listens, by what they are told: each telling is made once."""
        found: dict[Audience, list[Listener]] = {}
        for listener in self.listeners:
            found.setdefault(listener.audience(session), []).append(listener)
        return found

    def _tell_upgrade(self, newer: UpgradeNeeded) -> None:
        """A screen that stands still says why."""
        if trouble := as_trouble(newer):
            body = error_message(trouble, self.id).model_dump_json(by_alias=True).encode()
            for listener in tuple(self.listeners):
                listener.heard_error(body)
        self._moved.set()
        self._moved = asyncio.Event()


class Hub:
    """The channels of this process. A channel is there while somebody is in it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._channels: dict[str, Channel] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._watches: dict[tuple[Quota, str], asyncio.Task[None]] = {}
        core.bus.on_reconnect(self._all_nudged)

    def enter(self, session_id: str) -> Channel:
        """The session's channel, until `leave`. `Channel.fresh` opens it."""
        channel = self._channels.get(session_id)
        if channel is None:
            channel = self._channels[session_id] = Channel(session_id, self._core)
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

    def depart(self, session_id: str, listener: Listener | None = None) -> None:
        """Leave without waiting for it: what is cancelled cannot wait any more."""
        task = asyncio.create_task(self.leave(session_id, listener))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    def nudge(self, session_id: str) -> None:
        """Something was just appended by ourselves: do not wait for the feed to say so."""
        if channel := self._channels.get(session_id):
            channel.nudge()

    def followed(self, session_id: str) -> Channel | None:
        """The session's channel, if somebody is in it and it has been read."""
        channel = self._channels.get(session_id)
        return channel if channel and channel.loaded else None

    def watch(self, session_id: str, quota: Quota) -> None:
        """Stay in the session's channel until no service works on it, whoever leaves: till then the quota counts it."""
        if (quota, session_id) not in self._watches:
            self._watches[quota, session_id] = asyncio.create_task(self._until_rest(session_id, quota))

    async def _until_rest(self, session_id: str, quota: Quota) -> None:
        channel = self.enter(session_id)
        try:
            await _opened(channel)
            while not channel.newer and not _rests(channel.session, quota.at_work.get(session_id, 0)):
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL):
                        await channel.moved()
        except (Trouble, UpgradeNeeded) as gone:
            log_.info("not_watched", session_id=session_id, error=repr(gone))
        finally:
            quota.rests(session_id)
            del self._watches[quota, session_id]  # at once: the next event may give a service something to do again
            self.depart(session_id)

    async def close(self) -> None:
        """Watch no session any more."""
        tasks = tuple(self._watches.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*self._leaving, return_exceptions=True)

    async def draft(self, session_id: str) -> Delta | None:
        """What a service is writing for this session at this moment, if one answers in time."""
        try:
            body = await self._core.bus.request(f"draft.get.{session_id}", b"", timeout=DRAFT_WAIT)
            return Delta.model_validate_json(body)
        except (BusDown, MessageTooLarge, ValidationError):
            return None

    async def _all_nudged(self) -> None:
        for channel in self._channels.values():
            channel.nudge()


@retry_while_unavailable(*AWAY, longest=POLL)
async def _opened(channel: Channel) -> None:
    await channel.fresh()


def _rests(session: Session | None, version: int) -> bool:
    """Whether no service has anything to do in it, at this version or later."""
    return session is not None and session.version >= version and session.work is None
