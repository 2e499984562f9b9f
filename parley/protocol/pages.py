"""Pages of lists that plan_store and the REST API return: sessions, journals, memories, the library."""

from pydantic import AwareDatetime, BaseModel, ConfigDict

from parley.events import SessionEvent
from parley.events.values import Service, Step, Workflow
from parley.protocol.words import STATES


class StoreMessage(BaseModel):
    # defer_build: building validators takes time, and a process uses few of them
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SessionRow(StoreMessage):
    """A session in a list, with the beginning of its request.

    `rest_reason`: why it rests, or rested last. `unfinished`: its execution plan has not ended, and does not go on
    before a person acts.
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
        """The state as a label."""
        if self.paused:
            return STATES["paused"]
        answered = self.state == "completed" and self.rest_reason == "answered"
        return STATES["answered"] if answered else STATES.get(self.state, self.state.replace("_", " "))


class SessionRows(StoreMessage):
    """Sessions, newest first. `total` counts all of them, also those on other pages."""

    sessions: tuple[SessionRow, ...]
    total: int


class SessionSummary(SessionRow):
    """The whole row of plan_store."""

    position: int
    work_service: Service | None
    work_version: int | None
    work_since: AwareDatetime | None


class SessionPage(StoreMessage):
    sessions: tuple[SessionSummary, ...]
    total: int


class JournalPage(StoreMessage):
    """`version` is the session's newest: there are more pages while the last event's is lower."""

    events: tuple[SessionEvent, ...]
    version: int


class MemoryRecord(StoreMessage):
    """The outcome of one request. `round` counts the session's requests from 1; `version` is that of its first event.

    `id`: names it for deletion; empty from an older Parley, which cannot delete memories. `score` orders the records of
    one response and has no other meaning; 0: not found by its words.
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


class MemoryPage(StoreMessage):
    items: tuple[MemoryRecord, ...]
    total: int


class LibraryEntry(StoreMessage):
    """The accepted answer to one request. `round` counts the session's requests from 1; `version` is the judgement's.

    Round 0 is what a fork took over. `path`: the nodes that ran in a flow; `question`, `sql` and `tables` are empty if
    they produced none. `steps`, in other workflows: those of the approved plan, or the calls; empty if there were too
    many. `answer`: its beginning; for a program, its plan.
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


class LibraryPage(StoreMessage):
    items: tuple[LibraryEntry, ...]
    total: int


class Proposal(StoreMessage):
    """A node that a flow lacks, what it would do, and the request that needed it."""

    session_id: str
    version: int
    flow: str
    name: str
    description: str
    why: str
    request: str
    at: AwareDatetime


class ProposalPage(StoreMessage):
    items: tuple[Proposal, ...]
    total: int
