"""One WebSocket connection: a reader, a writer, and the sessions it looks at. It owns nothing that outlives it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import structlog
from fastapi import WebSocket, WebSocketDisconnect

from parley.protocol import client as m
from parley.protocol import server as s
from parley.protocol.screen import ScreenSnapshot
from services.gateway import handlers
from services.gateway.access.quota import Quota
from services.gateway.access.users import User, may_read, missing
from services.gateway.commands import SessionMessage, Shown
from services.gateway.inbound import parse
from services.gateway.live.audience import Audience, Protocol, dump, shows
from services.gateway.live.hub import PAGE, Hub
from services.gateway.live.outbox import Outbox, OutgoingMessage
from services.gateway.live.subscription import ChannelSubscription
from services.gateway.ports import Core, query
from services.gateway.trouble import FAILED, Trouble, as_trouble, error_message
from shared.store_api import JOURNAL_READ, ReadJournal

TRY_AGAIN_LATER, LOGIN_ENDED = 1013, 4401
GRACE = 5.0  # seconds that a slow client is given to hear that it was too slow
SLOW, WAITS = 3.0, "Parley's log does not answer at the moment. It is waited for; nothing is lost."

log = structlog.get_logger("socket")


class Socket:
    """What the client says is done one message after the other; what it hears is written by one task."""

    def __init__(  # noqa: PLR0913  what a socket works with
        self,
        ws: WebSocket,
        user: User,
        login_ended: asyncio.Event,
        *,
        core: Core,
        hub: Hub,
        quota: Quota,
        protocol: Protocol = 1,
    ) -> None:
        self._ws, self._user, self._login_ended = ws, user, login_ended
        self._core, self._hub, self._quota, self._protocol = core, hub, quota, protocol
        self._outbox = Outbox(quota)
        self._subscriptions: dict[str, ChannelSubscription] = {}
        self._shown: dict[str, Shown] = {}
        self._current = handlers.new_session_id()

    async def serve(self, greeting: s.Greeting) -> None:
        """Until the client leaves, closes, or turns out to be too slow. The socket has been accepted."""
        self._send(greeting.model_copy(update={"session_id": self._current}))
        tasks = [
            asyncio.create_task(self._read(), name="socket reader"),
            asyncio.create_task(self._write(), name="socket writer"),
            asyncio.create_task(self._outbox.overflowed.wait(), name="socket overflow"),
            asyncio.create_task(self._login_ended.wait(), name="socket login"),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            for session_id in tuple(self._subscriptions):
                await self._leave(session_id)
            slow = self._outbox.overflowed.is_set()
            self._outbox.close()
        await self._say_goodbye(slow=slow)
        _complain(ended)

    # --- out

    def _send(self, message: s.ServerMessage) -> None:
        body = dump(message)
        self._quota.answered(len(body))
        snapshot = isinstance(message, s.Snapshot | ScreenSnapshot)
        self._outbox.put(OutgoingMessage(body, message.session_id, shows(message), snapshot))

    async def _write(self) -> None:
        while True:
            outgoing = await self._outbox.get()
            await self._ws.send_text(outgoing.body.decode())
            if outgoing.shows:
                self._shown[outgoing.session_id] = outgoing.shows

    async def _say_goodbye(self, *, slow: bool) -> None:
        code, reason = (TRY_AGAIN_LATER, "too slow") if slow else (1000, "")
        if self._login_ended.is_set():
            code, reason = LOGIN_ENDED, "your login has ended"
        with suppress(TimeoutError, RuntimeError, WebSocketDisconnect):  # it has left already, or does not read at all
            async with asyncio.timeout(GRACE):
                await self._ws.close(code, reason)

    @contextmanager
    def _told_if_slow(self, session_id: str) -> Iterator[None]:
        """Who waits for the log is told so."""
        told = s.Log(session_id=session_id, content=WAITS)
        waiting = asyncio.get_running_loop().call_later(SLOW, self._send, told)
        try:
            yield
        finally:
            waiting.cancel()

    # --- in

    async def _read(self) -> None:
        while True:
            await self._outbox.calm()  # who does not read is not heard
            frame = await self._ws.receive()
            if frame["type"] == "websocket.disconnect":
                return
            if await self._hear(frame.get("text")):
                return

    async def _hear(self, text: str | None) -> bool:
        """One message from the client; True when it wants to leave."""
        reply_to: str | None = None
        session_id = self._current
        try:
            self._quota.count()
            if text is None:
                raise Trouble("bad_message", "Messages are text frames of JSON, not binary ones.")
            message = parse(text)
            reply_to, session_id = message.id, message.session_id or self._current
            if isinstance(message, m.Close):
                return True
            await self._carry_out(message, session_id)
        except Exception as error:
            trouble = as_trouble(error)
            if trouble is None:
                log.exception("message_failed", session_id=session_id)
                trouble = Trouble("failed", FAILED)
            self._send(error_message(trouble, session_id, reply_to))
            if trouble.code == "slow_down":
                await asyncio.sleep(self._quota.hold_back())
        return False

    async def _carry_out(self, message: m.AnyClientMessage, session_id: str) -> None:
        match message:
            case m.Close():
                return
            case m.Resume():
                await self._resume(session_id, message.after)
            case m.Fork():
                fork_id = await handlers.begin_fork(message, session_id, user=self._user, core=self._core)
                self._send(s.Forked(session_id=session_id, fork_id=fork_id))
            case _:
                await self._act(message, session_id)

    async def _act(self, message: SessionMessage, session_id: str) -> None:
        """A message about a session that this socket is not on yet puts it there: its sender sees what comes of it."""
        begins = isinstance(message, m.UserMessage)
        if begins:
            self._quota.may_work(session_id)  # refused before the session is loaded
        with self._told_if_slow(session_id):
            if not (was_here := session_id in self._subscriptions):
                await self._sit_down(session_id, begins=begins)
            sender = handlers.Sender(self._user, self._shown.get(session_id))
            try:
                subscription = self._subscriptions.get(session_id)  # none in a session that nobody has begun
                channel = subscription.channel if subscription else None
                done = await handlers.act(message, session_id, sender, self._core, channel)
                if done.repeated and was_here and subscription and subscription.channel.session:
                    session = subscription.channel.session  # no event comes of it: this is the answer
                    self._send(subscription.audience(session).snapshot(session))
            finally:  # also when it is refused: the screen may be behind
                self._hub.nudge(session_id)
        if begins:
            self._current = session_id

    # --- looking at sessions

    async def _sit_down(self, session_id: str, *, begins: bool) -> None:
        """Live from here on, without what was before; not in a session that nobody has begun."""
        subscription = self._enter(session_id)
        try:
            session = await subscription.channel.fresh()
            may_read(self._user, session)
            if begins and session.version:  # sent again after a lost connection: nothing new may ever come of it
                self._send(subscription.audience(session).snapshot(session))
            subscription.release(session.version)
        except BaseException:
            await self._leave(session_id)
            raise
        if session.version == 0 and not begins:
            await self._leave(session_id)

    async def _resume(self, session_id: str, after: int) -> None:
        """A snapshot, the events after `after`, then live: whatever happens meanwhile waits in the subscription."""
        subscription = self._subscriptions.get(session_id) or self._enter(session_id)
        subscription.hold()
        try:
            with self._told_if_slow(session_id):
                session = await subscription.channel.fresh()
            if session.version == 0:
                raise missing(session_id)
            may_read(self._user, session)
            if session.work:
                draft = await self._hub.draft(session_id)
                session = await subscription.channel.fresh()
            else:
                draft = None
            audience = subscription.audience(session)
            self._send(audience.snapshot(session, draft))
            await self._tell_history(audience, session_id, after, session.version)
            subscription.release(session.version)
        except BaseException:
            await self._leave(session_id)
            raise
        self._current = session_id

    async def _tell_history(self, audience: Audience, session_id: str, after: int, until: int) -> None:
        """The stored events after version `after` up to `until`, no faster than the client takes them."""
        while after < until:
            request = ReadJournal(session_id=session_id, after=after, limit=min(PAGE, until - after))
            page = await query(self._core.store, JOURNAL_READ, request)
            if not page.events:
                raise Trouble("unavailable", "The journal is not complete yet.", "Resume again in a moment.")
            for event in page.events:
                self._send(audience.history(event))
            after = page.events[-1].version
            await self._outbox.calm()

    def _enter(self, session_id: str) -> ChannelSubscription:
        self._quota.open_sessions.take()
        subscription = self._subscriptions[session_id] = ChannelSubscription(
            self._user, self._hub.enter(session_id), self._outbox, self._protocol
        )
        return subscription

    async def _leave(self, session_id: str) -> None:
        if subscription := self._subscriptions.pop(session_id, None):
            self._quota.open_sessions.give()
            subscription.drop()
            await self._hub.leave(session_id, subscription)


def _complain(ended: Sequence[object]) -> None:
    """A writer whose client has gone is no fault; anything else is."""
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, (WebSocketDisconnect, RuntimeError, OSError)):
            log.error("socket_failed", error=repr(error))
