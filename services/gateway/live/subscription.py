"""One socket's place in one session: every event once, in order, whatever comes from history and what from live."""

from services.gateway.access.users import User, sees
from services.gateway.live.audience import Audience, EventMessages, Protocol
from services.gateway.live.hub import Channel
from services.gateway.live.outbox import Outbox, OutgoingMessage
from shared.domain.session import Session

MAX_HELD = 5_000  # messages kept back while history is read


class ChannelSubscription:
    """Held, it keeps back what comes live; released, it goes on where history ended.

    It is silent while its user may not see the session: who sat down where nothing had begun sees nothing of what
    somebody else begins there.
    """

    def __init__(self, user: User, channel: Channel, outbox: Outbox, protocol: Protocol = 1) -> None:
        self.channel = channel
        self._protocol = protocol
        self._user, self._outbox = user, outbox
        self._sent = 0
        self._held: list[EventMessages | bytes] = []
        self._live = False
        channel.listeners.add(self)

    def audience(self, session: Session) -> Audience:
        return Audience.of(self._user, session, self._protocol)

    def hold(self) -> None:
        self._live = False

    def release(self, version: int) -> None:
        """Go live after `version`: what was held back up to it has been told already."""
        self._live, self._sent = True, version
        for item in self._take_held():
            self._pass_on(item)

    def drop(self) -> None:
        """Forget what was held back: nobody will see it."""
        self._take_held()

    def heard(self, told: EventMessages) -> None:
        self._take(told)

    def heard_delta(self, body: bytes) -> None:
        self._take(body)

    def heard_error(self, body: bytes) -> None:
        self._take(body)

    def _take(self, item: EventMessages | bytes) -> None:
        if self.channel.session and not sees(self._user, self.channel.session):
            return
        if self._live:
            self._pass_on(item)
        elif len(self._held) >= MAX_HELD:
            self._outbox.overflow()
        elif self._outbox.hold(_size(item)):
            self._held.append(item)

    def _take_held(self) -> list[EventMessages | bytes]:
        held, self._held = self._held, []
        self._outbox.release(sum(map(_size, held)))
        return held

    def _pass_on(self, item: EventMessages | bytes) -> None:
        if isinstance(item, bytes):
            self._outbox.put(OutgoingMessage(item, self.channel.id))
        elif item.version > self._sent:
            self._sent = item.version
            for body, shown in item.messages:
                self._outbox.put(OutgoingMessage(body, self.channel.id, shown))


def _size(item: EventMessages | bytes) -> int:
    return len(item) if isinstance(item, bytes) else item.size
