"""What plan_store is asked, and what it answers. Times are UTC, money US dollars."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Base64Bytes, Field

from parley.events.values import Check, PlanKind, SessionId, Step
from parley.protocol.views import PlannedPathView
from shared.domain.session import Session
from shared.store_api.base import Message

Limit = Annotated[int, Field(ge=1, le=1000)]
Offset = Annotated[int, Field(ge=0, le=1_000_000_000)]
Position = Annotated[int, Field(ge=0, le=2**62)]
Version = Annotated[int, Field(ge=1, le=2**48)]
User = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[str, Field(max_length=500)]

# --- sessions


class OfSession(Message):
    session_id: SessionId


class LoadSession(OfSession):
    """The folded session: not older than stream position `at_least`, or as it was at `version`."""

    at_least: Position = 0
    version: Version | None = None


class LoadedSession(Message):
    session: Session
    position: int


class LoadPart(LoadSession):
    """A piece of a folded session that is larger than a message, from this byte of its JSON on."""

    offset: Annotated[int, Field(ge=0, le=2**40)] = 0


class SessionPart(Message):
    """`data`: base64 of `size` bytes in all. The same version is the same JSON, which the digest proves."""

    version: int
    position: int
    size: int
    digest: str
    data: Base64Bytes


class GetSession(OfSession): ...


UNFINISHED = "unfinished"


class ListSessions(Message):
    """Newest first. `user`: their own and those shared with them; None: all. `query`: every word, in title or requests.

    `states` are clients' names (`text_plan_approval`), `phases` the machine's; empty: any. `UNFINISHED` among them adds
    those whose plan of steps has not come to its end: an older plan_store, which does not know it, adds none.
    """

    user: User | None = None
    query: Words = ""
    states: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    phases: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    limit: Limit = 50
    offset: Offset = 0


class PurgeSession(OfSession):
    """Only for its owner, and not while work is going on. What was forked from it lives on."""

    user: User


class Purged(Message):
    session_id: str


class ReadJournal(OfSession):
    """The events after version `after`, in order: at most `limit`, fewer where they are large."""

    after: Annotated[int, Field(ge=0, le=2**48)] = 0
    limit: Limit = 200


# --- plans and code


class ListPlans(Message):
    """The newest plan of each session that has one and was not deleted; newest first."""

    user: User | None = None
    statuses: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    kinds: Annotated[tuple[PlanKind, ...], Field(max_length=20)] = ()
    limit: Limit = 50
    offset: Offset = 0


class GetPlan(OfSession):
    """One version of the plan; None: the newest."""

    version: Version | None = None


class PlanVersions(OfSession): ...


class TasksOfPlans(OfSession): ...


class PlanTask(Message):
    """One task of a session: a request that an execution plan was made for. `versions` are those of its plan.

    `until` is the last version of the session that belongs to it; None: the session's newest. `goal`, `status`, `steps`
    (how many) and `at` are those of the plan's last version.
    """

    task: str
    versions: tuple[int, ...]
    until: int | None
    goal: str
    status: str
    steps: int
    at: AwareDatetime


class PlanTasks(Message):
    tasks: tuple[PlanTask, ...]


class DiffPlans(OfSession):
    old: Version
    new: Version


class PlanRecord(Message):
    """One version of a plan; `status` is the domain's, or "superseded" when a newer one took its place in review.

    `path`: through flows, as it was planned; None: the plan is no path. `reason`: the person's words that led to it, or
    their beginning; "" where a person made it, or an older release.
    """

    session_id: str
    version: int
    number: int
    kind: PlanKind
    goal: str
    steps: tuple[Step, ...]
    notes: str
    text: str
    hash: str
    status: str
    by: str
    at: AwareDatetime
    deleted: bool
    path: PlannedPathView | None = None
    reason: str = ""


class PlanPage(Message):
    plans: tuple[PlanRecord, ...]
    total: int


class PlanHistory(Message):
    """All versions, oldest first; where they are too large for one answer, the newest of them."""

    plans: tuple[PlanRecord, ...]


class StepChange(Message):
    """What became of one step. `old` and `new` are its numbers, from 1; None where it is not there.

    `status`: of a step of an execution plan, what has come of it by now, like `finished` or `planned`.
    """

    kind: Literal["same", "added", "removed", "changed", "moved"]
    old: int | None
    new: int | None
    before: Step | None
    after: Step | None
    status: str | None = None


class PlanOrigin(Message):
    """Who made a version of a plan, and when. `reason`: the person's words that led to it; "" for an edit."""

    version: int
    number: int
    by: str
    at: AwareDatetime
    reason: str = ""


class PlanDiff(Message):
    """`unified` is the diff of the two texts, "" when they are equal; `steps` follows the new plan's order.

    `coarse`: the texts have too many lines to be compared line by line, and `unified` replaces everything between the
    first and the last change. `origins`: of the two versions.
    """

    old: int
    new: int
    unified: str
    steps: tuple[StepChange, ...]
    coarse: bool = False
    origins: tuple[PlanOrigin, ...] = ()


class CodeVersions(OfSession): ...


class CodeRecord(Message):
    version: int
    number: int
    plan_version: int
    code: str
    explanation: str
    hash: str
    status: str
    by: str
    at: AwareDatetime
    checks: tuple[Check, ...]
    tests: str


class CodeHistory(Message):
    """All versions, oldest first; where they are too large for one answer, the newest of them."""

    codes: tuple[CodeRecord, ...]


# --- figures


class UsageTotals(Message):
    """Of one session, of one user's own sessions, or (neither given) of all."""

    session_id: SessionId | None = None
    user: User | None = None


class UsageRow(Message):
    """`latency` is the sum of the calls' seconds."""

    model: str
    role: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float
    latency: float


class UsageReport(Message):
    rows: tuple[UsageRow, ...]


class Health(Message): ...


class HealthReport(Message):
    """`waiting_for_upgrade`: sessions that a newer release has continued, and this plan_store cannot fold."""

    database: str
    sessions: int
    waiting_for_upgrade: int = 0
