"""Lists that the REST API answers with, as plan_store made them: sessions, journals, memories, the library."""

from pydantic import AwareDatetime, BaseModel, ConfigDict

from parley.events import SessionEvent
from parley.events.values import Service, Step, Workflow
from parley.protocol.words import STATES


class Message(BaseModel):
    # defer_build: a process uses few of these, and a validator takes a moment to make
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SessionRow(Message):
    """A session in a list, and of its request the beginning.

    `rest_reason` is why it rests, or rested last. `unfinished`: its plan of steps has not come to its end, and
    nothing of it goes on before a person says so.
    """

    id: str
    owner: str
    title: str
    request: str
    workflow: Workflow
    phase: str
    state: str
    paused: bool
    rest_reason: str = ""
    unfinished: bool = False
    version: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    parent: str | None

    @property
    def word(self) -> str:
        """Where it stands, as people read it."""
        if self.paused:
            return STATES["paused"]
        answered = self.phase == "resting" and self.rest_reason == "answered"
        return STATES["answered"] if answered else STATES.get(self.state, self.state.replace("_", " "))


class SessionRows(Message):
    """Sessions, newest first; `total` counts those that are not among them, too."""

    sessions: tuple[SessionRow, ...]
    total: int


class SessionSummary(SessionRow):
    """The whole row as plan_store has it."""

    position: int
    work_service: Service | None
    work_version: int | None
    work_since: AwareDatetime | None


class SessionPage(Message):
    sessions: tuple[SessionSummary, ...]
    total: int


class JournalPage(Message):
    """`version` is the session's newest: more is to be read while the last event's is lower."""

    events: tuple[SessionEvent, ...]
    version: int


class MemoryRecord(Message):
    """What one request came to: `round` counts those of its session, from 1, `version` is that of its first event.

    `id`: what to delete it by; empty where the Parley is older and can delete none.
    `score` orders the records of one answer and means nothing beyond it; 0: not found by its words.
    """

    id: str = ""
    session_id: str
    round: int
    version: int
    request: str
    outcome: str
    lesson: str
    at: AwareDatetime
    score: float


class MemoryPage(Message):
    items: tuple[MemoryRecord, ...]
    total: int


class LibraryEntry(Message):
    """What one request came to: `round` counts those of its session, from 1, `version` is that of the judgement.

    In round 0 is what a fork took over. `path` is the one that was walked in a flow: where it made no question, no SQL
    or used no tables, these are empty. `steps`, in the other workflows, are those of the approved plan, or the calls
    that were made; none where there were too many. `answer` is its beginning; that of a program is its plan.
    """

    session_id: str
    round: int
    version: int
    request: str
    flows: tuple[str, ...]
    path: tuple[str, ...]
    question: str
    sql: str
    tables: tuple[str, ...]
    answer: str
    accepted: bool
    saved: bool
    at: AwareDatetime
    workflow: Workflow = "flow"
    steps: tuple[Step, ...] = ()


class LibraryPage(Message):
    items: tuple[LibraryEntry, ...]
    total: int


class Proposal(Message):
    """A node that a flow does not have, what it would do, and which request wanted it."""

    session_id: str
    version: int
    flow: str
    name: str
    description: str
    why: str
    request: str
    at: AwareDatetime


class ProposalPage(Message):
    items: tuple[Proposal, ...]
    total: int
