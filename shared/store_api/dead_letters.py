"""Requests to plan_store about dead letters and quarantined messages, and the replies."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from shared.store_api.base import StoreMessage
from shared.store_api.messages import Limit, Offset, User


class ListDead(StoreMessage):
    """Newest first. With `dismissed`, only the dismissed ones."""

    limit: Limit = 100
    offset: Offset = 0
    dismissed: bool = False


class DismissDead(StoreMessage):
    """Dismiss all entries of this message: they are no longer listed or counted."""

    stream: Annotated[str, Field(min_length=1, max_length=64)]
    stream_seq: Annotated[int, Field(ge=1, le=2**53)]
    user: User


class DismissedDead(StoreMessage):
    """`entries`: how many were dismissed."""

    stream: str
    stream_seq: int
    entries: int


class ParkedRecord(StoreMessage):
    """A quarantined message: on a session's subject, but not one of its events. It changed nothing.

    `dismissed_by`, `dismissed_at`: who dismissed it, and when.
    """

    position: int
    session_id: str
    subject: str
    reason: str
    preview: str
    at: AwareDatetime
    dismissed_by: str | None = None
    dismissed_at: AwareDatetime | None = None


class DeadRecord(StoreMessage):
    """A delivery that a consumer gave up: refused, or out of attempts.

    `phase`: the session's current phase; empty if there is no such session. `dismissed_by`, `dismissed_at`: who
    dismissed it, and when.
    """

    stream: str
    consumer: str
    stream_seq: int
    reason: str
    session_id: str
    subject: str
    at: AwareDatetime
    phase: str = ""
    dismissed_by: str | None = None
    dismissed_at: AwareDatetime | None = None


class DeadPage(StoreMessage):
    parked: tuple[ParkedRecord, ...]
    parked_total: int
    dead: tuple[DeadRecord, ...]
    dead_total: int
