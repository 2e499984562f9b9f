"""A client's subscription to a session: every event once and in order, first from history, then live."""

from services.gateway.access.users import User
from services.gateway.live.audience import Audience, EventMessages, Protocol
from services.gateway.live.hub import SessionChannel
from services.gateway.live.send_queue import OutgoingMessage, SendQueue
from shared.domain.session import Session

MAX_HELD_BACK = 5_000  # messages, while history is sent


class ChannelSubscription:
    """While paused it holds back live messages; live, it goes on where history ended.

    It sends nothing while its user may not read the session: a user who subscribed to an unused id does not see the
    session that another user begins under it.
    """

    def __init__(self, user: User, channel: SessionChannel, queue: SendQueue, protocol: Protocol = 1) -> None:
        self.channel = channel
        self._protocol = protocol
        self._user, self._queue = user, queue
        self._sent = 0
        self._held_back: list[EventMessages | bytes] = []
        self._live = False
        channel.listeners.add(self)

    def audience(self, session: Session) -> Audience:
        return Audience.of(self._user, session, self._protocol)

    def pause(self) -> None:
        self._live = False

    def go_live(self, version: int) -> None:
        """Go live after `version`. Messages held back up to it have been sent already."""
        self._live, self._sent = True, version
        for item in self._take_held_back():
            self._send(item)

    def discard(self) -> None:
        """Discard what was held back."""
        self._take_held_back()

    def on_event(self, messages: EventMessages) -> None:
        self._receive(messages)

    def on_delta(self, body: bytes) -> None:
        self._receive(body)

    def on_error(self, body: bytes) -> None:
        self._receive(body)

    def _receive(self, item: EventMessages | bytes) -> None:
        if self.channel.session and self._user.role_in(self.channel.session) is None:
            return
        if self._live:
            self._send(item)
        elif len(self._held_back) >= MAX_HELD_BACK:
            self._queue.overflow()
        elif self._queue.reserve(_size(item)):
            self._held_back.append(item)

    def _take_held_back(self) -> list[EventMessages | bytes]:
        items, self._held_back = self._held_back, []
        self._queue.release(sum(map(_size, items)))
        return items

    def _send(self, item: EventMessages | bytes) -> None:
        if isinstance(item, bytes):
            self._queue.put(OutgoingMessage(item, self.channel.id))
        elif item.version > self._sent:
            self._sent = item.version
            for body, target in item.messages:
                self._queue.put(OutgoingMessage(body, self.channel.id, target))


def _size(item: EventMessages | bytes) -> int:
    return len(item) if isinstance(item, bytes) else item.size
