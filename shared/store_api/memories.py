"""What plan_store tells of earlier requests of the same owner, and how it is asked."""

from typing import Annotated

from pydantic import Field

from parley.events.values import SessionId
from parley.protocol.pages import MemoryRecord
from shared.store_api.base import Message
from shared.store_api.messages import Limit, Offset, User

Question = Annotated[str, Field(max_length=50_000)]


class RecallMemories(Message):
    """Requests of this user's own sessions that share words with `query`, best first.

    `recent`: that many of the newest besides, for whoever compares by meaning. `exclude`: the session that asks.
    """

    user: User
    query: Question
    exclude: SessionId | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    recent: Annotated[int, Field(ge=0, le=100)] = 0


class ListMemories(Message):
    """All that is remembered of this user's own sessions, newest first; with `query` what has all its words."""

    user: User
    query: Question = ""
    limit: Limit = 50
    offset: Offset = 0


class Memories(Message):
    items: tuple[MemoryRecord, ...]


class ForgetMemory(Message):
    """Never tell it again, to the person or to the planner. Its session keeps what was said, until it is purged."""

    user: User
    session_id: SessionId
    version: Annotated[int, Field(ge=1, le=2**53)]


class Forgotten(Message):
    session_id: str
    version: int
