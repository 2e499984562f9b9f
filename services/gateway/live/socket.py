"""One WebSocket connection: a reader, a writer, and subscriptions to sessions."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import structlog
from fastapi import WebSocket, WebSocketDisconnect

from parley.protocol import client as m
from parley.protocol import server as s
from parley.protocol.screen import ScreenSnapshot
from services.gateway.access.quota import Quota
from services.gateway.access.users import User, check_can_read, session_not_found
from services.gateway.api_errors import FAILED_MESSAGE, ApiError, as_api_error, error_message
from services.gateway.live.audience import Audience, Protocol, approval_target, dump
from services.gateway.live.channel import PAGE_SIZE
from services.gateway.live.hub import Hub
from services.gateway.live.subscription import ChannelSubscription, OutgoingMessage, SendQueue
from services.gateway.messages import handlers
from services.gateway.messages.commands import ApprovalTarget, SessionMessage
from services.gateway.messages.parsing import parse_message
from services.gateway.ports import Core, query
from shared.store_api import JOURNAL_READ, ReadJournal

TRY_AGAIN_LATER, LOGIN_ENDED = 1013, 4401
CLOSE_TIMEOUT = 5.0  # seconds for a slow client to receive the close frame
SLOW_SECONDS, SLOW_NOTICE = 3.0, "Parley's log does not answer at the moment. It is waited for; nothing is lost."

log = structlog.get_logger("socket")


class SocketConnection:
    """One task carries out the client's messages in order; another writes the messages to it."""

    def __init__(  # noqa: PLR0913  its dependencies
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
        self._queue = SendQueue(quota)
        self._subscriptions: dict[str, ChannelSubscription] = {}
        self._approval_targets: dict[str, ApprovalTarget] = {}
        self._current = self._unused_id = handlers.new_session_id()

    async def serve(self, greeting: s.Greeting) -> None:
        """Serve an accepted socket until the client leaves or closes, is too slow, or its login ends."""
        self._send(greeting.model_copy(update={"session_id": self._current}))
        tasks = [
            asyncio.create_task(self._read(), name="socket reader"),
            asyncio.create_task(self._write(), name="socket writer"),
            asyncio.create_task(self._queue.overflowed.wait(), name="socket overflow"),
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
            slow = self._queue.overflowed.is_set()
            self._queue.close()
        await self._close(slow=slow)
        _log_failures(ended)

    # --- sending

    def _send(self, message: s.ServerMessage) -> None:
        body = dump(message)
        self._quota.charge_response(len(body))
        snapshot = isinstance(message, s.Snapshot | ScreenSnapshot)
        self._queue.put(OutgoingMessage(body, message.session_id, approval_target(message), snapshot))

    async def _write(self) -> None:
        while True:
            outgoing = await self._queue.get()
            await self._ws.send_text(outgoing.body.decode())
            if outgoing.shows:
                self._approval_targets[outgoing.session_id] = outgoing.shows

    async def _close(self, *, slow: bool) -> None:
        code, reason = (TRY_AGAIN_LATER, "too slow") if slow else (1000, "")
        if self._login_ended.is_set():
            code, reason = LOGIN_ENDED, "your login has ended"
        with suppress(TimeoutError, RuntimeError, WebSocketDisconnect):  # the client has left, or does not read
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._ws.close(code, reason)

    @contextmanager
    def _notice_if_slow(self, session_id: str) -> Iterator[None]:
        """Tell the client if the log takes long to answer."""
        notice = s.Log(session_id=session_id, content=SLOW_NOTICE)
        timer = asyncio.get_running_loop().call_later(SLOW_SECONDS, self._send, notice)
        try:
            yield
        finally:
            timer.cancel()

    # --- receiving

    async def _read(self) -> None:
        while True:
            await self._queue.wait_until_drained()  # do not read from a client that does not read
            frame = await self._ws.receive()
            if frame["type"] == "websocket.disconnect":
                return
            if await self._handle_frame(frame.get("text")):
                return

    async def _handle_frame(self, text: str | None) -> bool:
        """Handle one message from the client. Returns True when the client wants to leave."""
        reply_to: str | None = None
        session_id = self._current
        try:
            self._quota.count_message()
            if text is None:
                raise ApiError("bad_message", "Messages are text frames of JSON, not binary ones.")
            message = parse_message(text)
            reply_to, session_id = message.id, message.session_id or self._current
            if isinstance(message, m.Close):
                return True
            await self._handle_message(message, session_id)
        except Exception as error:
            api_error = as_api_error(error)
            if api_error is None:
                log.exception("message_failed", session_id=session_id)
                api_error = ApiError("failed", FAILED_MESSAGE)
            self._send(error_message(api_error, session_id, reply_to))
            if api_error.code == "slow_down":
                await asyncio.sleep(self._quota.next_refusal_delay())
        return False

    async def _handle_message(self, message: m.AnyClientMessage, session_id: str) -> None:
        match message:
            case m.Close():
                return
            case m.Resume():
                await self._resume(session_id, message.after)
            case m.Fork():
                fork_id = await handlers.fork_session(message, session_id, user=self._user, core=self._core)
                self._send(s.Forked(session_id=session_id, fork_id=fork_id))
            case _:
                await self._act(message, session_id)

    async def _act(self, message: SessionMessage, session_id: str) -> None:
        """Carry out a message. It also subscribes the socket to the session, so that the sender sees the result."""
        begins = isinstance(message, m.UserMessage)
        if begins:
            self._quota.check_may_work(session_id)  # refused before the session is loaded
        with self._notice_if_slow(session_id):
            if not (was_subscribed := session_id in self._subscriptions):
                await self._subscribe(session_id, begins=begins)
            sender = handlers.Sender(self._user, self._approval_targets.get(session_id))
            subscription = self._subscriptions.get(session_id)  # none for a session without events
            channel = subscription.channel if subscription else None
            try:
                result = await handlers.act(message, session_id, sender, self._core, channel)
            except BaseException:  # the screen may be behind
                self._hub.wake(session_id)
                raise
            if result.repeated and was_subscribed and subscription and subscription.channel.session:
                session = subscription.channel.session  # no event follows, so this is the reply
                self._send(subscription.audience(session).snapshot(session))
        if begins:
            self._current = session_id

    # --- subscriptions

    async def _subscribe(self, session_id: str, *, begins: bool) -> None:
        """Subscribe without history. A session without events is only subscribed to by the message that begins it."""
        subscription = self._join(session_id)
        is_new, self._unused_id = begins and session_id == self._unused_id, ""
        try:
            channel = subscription.channel
            session = await channel.begin() if is_new else (await channel.refresh()).session
            check_can_read(self._user, session)
            if begins and session.version:  # resent after a lost connection: perhaps no new event follows
                self._send(subscription.audience(session).snapshot(session))
            subscription.go_live(session.version)
        except BaseException:
            await self._leave(session_id)
            raise
        if session.version == 0 and not begins:
            await self._leave(session_id)

    async def _resume(self, session_id: str, after: int) -> None:
        """Send a snapshot and the events after `after`, then go live. Live messages are held back until then."""
        subscription = self._subscriptions.get(session_id) or self._join(session_id)
        subscription.pause()
        try:
            with self._notice_if_slow(session_id):
                session = (await subscription.channel.refresh()).session
            if session.version == 0:
                raise session_not_found(session_id)
            check_can_read(self._user, session)
            if session.works:
                draft = await subscription.channel.draft()
                session = (await subscription.channel.refresh()).session
            else:
                draft = None
            audience = subscription.audience(session)
            self._send(audience.snapshot(session, draft))
            await self._send_history(audience, session_id, after, session.version)
            subscription.go_live(session.version)
        except BaseException:
            await self._leave(session_id)
            raise
        self._current = session_id

    async def _send_history(self, audience: Audience, session_id: str, after: int, last: int) -> None:
        """Send the stored events after version `after` up to `last`, no faster than the client reads them."""
        while after < last:
            request = ReadJournal(session_id=session_id, after=after, limit=min(PAGE_SIZE, last - after))
            page = await query(self._core.store, JOURNAL_READ, request)
            if not page.events:
                raise ApiError("unavailable", "The journal is not complete yet.", "Resume again in a moment.")
            for event in page.events:
                self._send(audience.history(event))
            after = page.events[-1].version
            await self._queue.wait_until_drained()

    def _join(self, session_id: str) -> ChannelSubscription:
        self._quota.open_sessions.acquire()
        subscription = self._subscriptions[session_id] = ChannelSubscription(
            self._user, self._hub.join(session_id), self._queue, self._protocol
        )
        return subscription

    async def _leave(self, session_id: str) -> None:
        if subscription := self._subscriptions.pop(session_id, None):
            self._quota.open_sessions.release()
            subscription.discard()
            await self._hub.leave(session_id, subscription)


def _log_failures(ended: Sequence[object]) -> None:
    """Log errors, except that the client has gone."""
    for error in ended:
        if isinstance(error, Exception) and not isinstance(error, (WebSocketDisconnect, RuntimeError, OSError)):
            log.error("socket_failed", error=repr(error))
