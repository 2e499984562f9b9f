"""Requests to plan_store about sessions, plans, code and usage, and the replies. Times are UTC, money US dollars."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Base64Bytes, Field

from parley.events.values import Check, PlanKind, SessionId, Step
from parley.protocol.views import PlannedPathView
from shared.domain.kernel.session import Session
from shared.store_api.base import StoreMessage

Limit = Annotated[int, Field(ge=1, le=1000)]
Offset = Annotated[int, Field(ge=0, le=1_000_000_000)]
Position = Annotated[int, Field(ge=0, le=2**62)]
Version = Annotated[int, Field(ge=1, le=2**48)]
User = Annotated[str, Field(min_length=1, max_length=200)]
SearchText = Annotated[str, Field(max_length=500)]

# --- sessions


class SessionRequest(StoreMessage):
    session_id: SessionId


class LoadSession(SessionRequest):
    """The folded session, not older than stream position `at_least`, or as it was at `version`."""

    at_least: Position = 0
    version: Version | None = None


class LoadedSession(StoreMessage):
    session: Session
    position: int


class LoadPart(LoadSession):
    """A part of a folded session that is larger than a message, from this byte of its JSON on."""

    offset: Annotated[int, Field(ge=0, le=2**40)] = 0


class SessionPart(StoreMessage):
    """`data`: base64 of a part; `size`: bytes of the whole. Parts of one session have the same `digest`."""

    version: int
    position: int
    size: int
    digest: str
    data: Base64Bytes


class GetSession(SessionRequest): ...


UNFINISHED, OFFER = "unfinished", "offer"


class ListSessions(StoreMessage):
    """Sessions, newest first. `user`: their own and those shared with them; None: all.

    `query`: all words must occur in the title or requests. `states` are the names that clients see
    (`text_plan_approval`), `phases` the domain's; empty: any. `UNFINISHED` among the phases adds sessions with an
    unfinished execution plan, `OFFER` those with an open offer; an older plan_store ignores them.
    """

    user: User | None = None
    query: SearchText = ""
    states: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    phases: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    limit: Limit = 50
    offset: Offset = 0


class PurgeSession(SessionRequest):
    """Purge a session. Only for its owner, and not while a service is at work. Its forks stay.

    `force`: the operator purges a session that waits for a newer release, whoever owns it and whatever it does.
    """

    user: User
    force: bool = False


class Purged(StoreMessage):
    session_id: str


class ReadJournal(SessionRequest):
    """The events after version `after`, in order: at most `limit`, fewer if they are large."""

    after: Annotated[int, Field(ge=0, le=2**48)] = 0
    limit: Limit = 200


# --- plans and code


class ListPlans(StoreMessage):
    """The newest plan of each session, without deleted ones; newest first."""

    user: User | None = None
    statuses: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    kinds: Annotated[tuple[PlanKind, ...], Field(max_length=20)] = ()
    limit: Limit = 50
    offset: Offset = 0


class GetPlan(SessionRequest):
    """One version of the plan; None: the newest."""

    version: Version | None = None


class PlanVersions(SessionRequest): ...


class ListPlanTasks(SessionRequest): ...


class PlanTask(StoreMessage):
    """One task of a session: a request with an execution plan. `versions` are those of its plan.

    `until` is the last version of the session that belongs to the task; None: the session's newest. `goal`, `status`,
    `steps` (a count) and `at` are those of the plan's last version. `updated_at` is as in PlanRecord.
    """

    task: str
    versions: tuple[int, ...]
    until: int | None
    goal: str
    status: str
    steps: int
    at: AwareDatetime
    updated_at: AwareDatetime | None = None


class PlanTasks(StoreMessage):
    tasks: tuple[PlanTask, ...]


class DiffPlans(SessionRequest):
    old: Version
    new: Version


class PlanRecord(StoreMessage):
    """One version of a plan; `status` is the domain's, or "superseded" if a newer version replaced it in review.

    `path`: the planned path through flows; None: the plan is not a path. `reason`: the beginning of the user's message
    that led to it; "" if a user or an older release made it. `updated_at`: in a list, when the plan, its status or a
    step last changed; None if an older release wrote it.
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
    updated_at: AwareDatetime | None = None


class PlanPage(StoreMessage):
    plans: tuple[PlanRecord, ...]
    total: int


class PlanHistory(StoreMessage):
    """All versions, oldest first; only the newest ones if they are too large for one reply."""

    plans: tuple[PlanRecord, ...]


class StepChange(StoreMessage):
    """The change of one step. `old` and `new` are its numbers, from 1; None if it is not in that version.

    `status`: the current status of an execution plan's step, such as `finished` or `planned`.
    """

    kind: Literal["same", "added", "removed", "changed", "moved"]
    old: int | None
    new: int | None
    before: Step | None
    after: Step | None
    status: str | None = None


class PlanOrigin(StoreMessage):
    """Who made a version of a plan, and when. `reason`: the user's message that led to it; "" for an edit."""

    version: int
    number: int
    by: str
    at: AwareDatetime
    reason: str = ""


class PlanDiff(StoreMessage):
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


class CodeVersions(SessionRequest): ...


class CodeRecord(StoreMessage):
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


class CodeHistory(StoreMessage):
    """All versions, oldest first; only the newest ones if they are too large for one reply."""

    codes: tuple[CodeRecord, ...]


# --- usage and health


class GetUsage(StoreMessage):
    """Usage of one session, of one user's own sessions, or (neither given) of all."""

    session_id: SessionId | None = None
    user: User | None = None


class UsageRow(StoreMessage):
    """`latency` is the sum of the calls' seconds."""

    model: str
    role: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float
    latency: float


class UsageReport(StoreMessage):
    rows: tuple[UsageRow, ...]


class Health(StoreMessage): ...


class HealthReport(StoreMessage):
    """`waiting_for_upgrade`: sessions that a newer release has continued, and this plan_store cannot fold.

    `problems`: what is wrong and what to do, by check. Anyone may read them, so they name no host, user or file.
    """

    database: str
    sessions: int
    waiting_for_upgrade: int = 0
    problems: dict[str, str] = Field(default_factory=dict)
