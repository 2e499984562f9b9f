"""Requests to plan_store about a user's earlier requests, and the replies."""

from typing import Annotated

from pydantic import Field

from parley.events.values import SessionId, Subject
from parley.protocol.pages import MemoryRecord
from shared.store_api.base import StoreMessage
from shared.store_api.messages import Limit, Offset, User

Question = Annotated[str, Field(max_length=50_000)]


class RecallMemories(StoreMessage):
    """Requests of this user's own sessions that share words with `query`, best first.

    `recent`: also return this many of the newest, to be compared by meaning. `exclude`: the session that asks.
    `subject`: also return what only sessions about this subject may recall.
    """

    user: User
    query: Question
    exclude: SessionId | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    recent: Annotated[int, Field(ge=0, le=100)] = 0
    subject: Subject = ""


class ListMemories(StoreMessage):
    """All memories of this user's own sessions, newest first; with `query` only those with all its words."""

    user: User
    query: Question = ""
    limit: Limit = 50
    offset: Offset = 0


class Memories(StoreMessage):
    items: tuple[MemoryRecord, ...]


class ForgetMemory(StoreMessage):
    """Forget a memory: no list or recall returns it again. Its session keeps its events until it is purged."""

    user: User
    session_id: SessionId
    version: Annotated[int, Field(ge=1, le=2**53)]


class Forgotten(StoreMessage):
    session_id: str
    version: int
