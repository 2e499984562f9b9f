"""What plan_store tells of messages that were put aside, and how one is put away for good."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from shared.store_api.base import Message
from shared.store_api.messages import Limit, Offset, User


class ListDead(Message):
    """Newest first; with `dismissed` those that were put away instead."""

    limit: Limit = 100
    offset: Offset = 0
    dismissed: bool = False


class DismissDead(Message):
    """Put away all that is listed of this message: it is not listed, and not counted, any more."""

    stream: Annotated[str, Field(min_length=1, max_length=64)]
    stream_seq: Annotated[int, Field(ge=1, le=2**53)]
    user: User


class DismissedDead(Message):
    """`entries`: how many were put away."""

    stream: str
    stream_seq: int
    entries: int


class ParkedRecord(Message):
    """A message on a session's subject that is not one of its events: skipped, changed nothing.

    `dismissed_by`, `dismissed_at`: who has put it away, and when.
    """

    position: int
    session_id: str
    subject: str
    reason: str
    preview: str
    at: AwareDatetime
    dismissed_by: str | None = None
    dismissed_at: AwareDatetime | None = None


class DeadRecord(Message):
    """A delivery that a consumer gave up: it was refused, or had its tries or strikes.

    `phase`: of its session now; empty where there is no such session. `dismissed_by`, `dismissed_at`: who has put it
    away, and when.
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


class DeadPage(Message):
    parked: tuple[ParkedRecord, ...]
    parked_total: int
    dead: tuple[DeadRecord, ...]
    dead_total: int
