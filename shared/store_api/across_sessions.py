"""Requests about what is stored beside the sessions: memories, the library, templates and dead letters."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from parley.events.values import Line, SessionId, Subject
from parley.protocol.pages import LibraryPage, MemoryRecord
from parley.protocol.templates import Schedule, ScheduledRun, Template, TemplateId
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


class ListLibrary(StoreMessage):
    """The accepted answers of this user's own sessions, newest first; with `query` only those with all its words.

    `saved`: only saved, or only unsaved ones; None: all.
    """

    user: User
    query: Question = ""
    saved: bool | None = None
    limit: Limit = 50
    offset: Offset = 0


class SimilarEntries(StoreMessage):
    """The accepted answers whose request shares the most words with `query`, best first; `saved`: only saved ones.

    `workflow`: only those of this workflow; "": of all. `subject`: also those for sessions about this subject alone.
    """

    user: User
    query: Question
    workflow: str = ""
    saved: bool = False
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    subject: Subject = ""


class SimilarPage(LibraryPage):
    """`compared`: how many entries there were to compare with; None if an older plan_store answers."""

    compared: int | None = None


class ListProposals(StoreMessage):
    """The nodes that planners proposed in this user's own sessions, newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0


class TemplateRequest(StoreMessage):
    user: User
    template_id: TemplateId


class SaveTemplate(TemplateRequest):
    """`expected`: the version that it changes; 0: a new template. Repeating the request creates no second template."""

    expected: Annotated[int, Field(ge=0, le=2**48)] = 0
    template: Template
    fingerprints: Annotated[dict[Line, Line], Field(max_length=100)] = Field(default_factory=dict)


class ScheduleTemplate(TemplateRequest):
    """`schedule` None: the template runs only by hand."""

    expected: Annotated[int, Field(ge=1, le=2**48)]
    schedule: Schedule | None = None


class DeleteTemplate(TemplateRequest):
    expected: Annotated[int, Field(ge=1, le=2**48)] | None = None


class ListTemplates(StoreMessage):
    """Newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0


class TemplateRecord(StoreMessage):
    """A template as it is stored. `next_run`: when its schedule is due next."""

    id: str
    version: int
    template: Template
    fingerprints: dict[str, str] = Field(default_factory=dict)
    schedule: Schedule | None = None
    next_run: AwareDatetime | None = None
    last_run: ScheduledRun | None = None
    at: AwareDatetime | None = None


class TemplateRecords(StoreMessage):
    items: tuple[TemplateRecord, ...]
    total: int


class TemplateDeletedReply(StoreMessage):
    template_id: str


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
