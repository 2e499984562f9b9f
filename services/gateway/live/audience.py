"""Messages about a session by audience: the clients with the same protocol and permissions. Pure."""

from typing import Literal, NamedTuple, assert_never

from parley.events import SessionEvent
from parley.protocol import screen as v2
from parley.protocol import server as v1
from services.gateway.access.users import User
from services.gateway.messages.commands import ApprovalTarget
from services.gateway.views import protocol1, screen_messages
from shared.domain.kernel.session import Session
from shared.domain.rules.permissions import SessionRole

Protocol = Literal[1, 2]


class EventMessages(NamedTuple):
    """All messages about one event, as JSON, each with what it shows for approval."""

    version: int
    messages: tuple[tuple[bytes, ApprovalTarget | None], ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(len(body) for body, _ in self.messages)


class Audience(NamedTuple):
    """The clients that get the same messages: those of one protocol whose users have the same role in the session."""

    protocol: Protocol = 1
    role: SessionRole | None = "owner"

    @classmethod
    def of(cls, user: User, session: Session, protocol: Protocol) -> "Audience":
        return cls(protocol, user.role_in(session))

    def snapshot(self, session: Session, draft: v1.Delta | None = None) -> v1.Snapshot | v2.ScreenSnapshot:
        match self.protocol:
            case 1:
                return protocol1.snapshot(session, draft, role=self.role)
            case 2:
                return screen_messages.snapshot(session, draft, role=self.role)
        assert_never(self.protocol)

    def event(self, before: Session, event: SessionEvent, after: Session) -> EventMessages:
        """The messages about an event, for clients that have every earlier event."""
        match self.protocol:
            case 1:
                outgoing: tuple[v1.ServerMessage, ...] = protocol1.messages_for(before, event, after)
            case 2:
                outgoing = (screen_messages.event_message(before, event, after, role=self.role),)
        return EventMessages(event.version, tuple((dump(message), approval_target(message)) for message in outgoing))

    def history(self, event: SessionEvent) -> v1.ServerMessage:
        """The message about a past event, for clients that have a newer snapshot."""
        if self.protocol == 1:
            return protocol1.history_message(event)
        return screen_messages.history_message(event)

    def delta(self, piece: v1.Delta) -> bytes:
        return dump(piece if self.protocol == 1 else screen_messages.delta(piece))


def dump(message: v1.ServerMessage) -> bytes:
    """The message as it is sent."""
    return message.model_dump_json(by_alias=True).encode()


def approval_target(message: v1.ServerMessage) -> ApprovalTarget | None:
    """What this message shows for approval; None if nothing."""
    match message:
        case v1.Snapshot():
            asked = message.review or message.approval_request
            return approval_target(asked) if asked else None
        case v2.ScreenSnapshot():
            return _section_target(message, message.view.review, message.view.approval_request)
        case v2.ScreenEvent():
            return _section_target(message, message.review, message.approval_request)
        case v1.TextPlanReview() | v1.CodeReview():
            return ApprovalTarget("item", message.version or 0, message.hash)
        case v1.ApprovalRequest():
            return ApprovalTarget("actions", message.version or 0)
    return None


def _section_target(
    message: v1.ServerMessage, review: v2.ReviewSection | None, approval: v2.ApprovalSection | None
) -> ApprovalTarget | None:
    if review:
        return ApprovalTarget("item", review.version, review.hash)
    return ApprovalTarget("actions", message.version or 0) if approval else None
