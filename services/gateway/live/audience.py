"""What somebody who looks at a session is sent, by the protocol they speak and whether they may act in it. Pure."""

from typing import Literal, NamedTuple, assert_never

from parley.events import SessionEvent
from parley.protocol import screen as v2
from parley.protocol import server as v1
from services.gateway.access.users import User, writes
from services.gateway.commands import Shown
from services.gateway.views import derive, messages, screen
from shared.domain.session import Session

Protocol = Literal[1, 2]


class EventMessages(NamedTuple):
    """Everything one event is to clients: the messages as JSON, each with what it shows for approval."""

    version: int
    messages: tuple[tuple[bytes, Shown | None], ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(len(body) for body, _ in self.messages)


class Audience(NamedTuple):
    """All who are told the same."""

    protocol: Protocol = 1
    writes: bool = True

    @classmethod
    def of(cls, user: User, session: Session, protocol: Protocol) -> "Audience":
        """In protocol 1 nobody is told what they may do apart from the others."""
        return cls(protocol, protocol == 1 or writes(user, session))

    def snapshot(self, session: Session, draft: v1.Delta | None = None) -> v1.Snapshot | v2.ScreenSnapshot:
        match self.protocol:
            case 1:
                return messages.snapshot(session, draft)
            case 2:
                return screen.snapshot(session, draft, writes=self.writes)
        assert_never(self.protocol)

    def event(self, before: Session, event: SessionEvent, after: Session) -> EventMessages:
        """What it is to those who have heard all before it."""
        match self.protocol:
            case 1:
                told: tuple[v1.ServerMessage, ...] = derive.told(before, event, after)
            case 2:
                told = (screen.happened(before, event, after, writes=self.writes),)
        return EventMessages(event.version, tuple((dump(message), shows(message)) for message in told))

    def history(self, event: SessionEvent) -> v1.ServerMessage:
        """What it is to those who have a snapshot that is newer."""
        if self.protocol == 1:
            return v1.Event(session_id=event.session_id, version=event.version, event=event)
        return screen.told_again(event)

    def delta(self, piece: v1.Delta) -> bytes:
        return dump(piece if self.protocol == 1 else screen.delta(piece))


def dump(message: v1.ServerMessage) -> bytes:
    """As it is sent."""
    return message.model_dump_json(by_alias=True).encode()


def shows(message: v1.ServerMessage) -> Shown | None:
    """What this message puts before a person's eyes to approve."""
    match message:
        case v1.Snapshot():
            asked = message.review or message.approval_request
            return shows(asked) if asked else None
        case v2.ScreenSnapshot():
            return _shown(message, message.view.review, message.view.approval_request)
        case v2.ScreenEvent():
            return _shown(message, message.review, message.approval_request)
        case v1.TextPlanReview() | v1.CodeReview():
            return Shown("item", message.version or 0, message.hash)
        case v1.ApprovalRequest():
            return Shown("actions", message.version or 0)
    return None


def _shown(
    message: v1.ServerMessage, review: v2.ReviewSection | None, asked: v2.ApprovalSection | None
) -> Shown | None:
    if review:
        return Shown("item", review.version, review.hash)
    return Shown("actions", message.version or 0) if asked else None
