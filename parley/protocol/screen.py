"""Protocol 2, `/ws?view=2`: what a screen needs to show a session, and nothing to conclude.

On entering a `snapshot` with the whole view. With each event the event itself, its `entries` for the journal, and
`changed`: the sections of the view that differ now, whole. `can` lists the client messages that would be accepted.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from parley.events import SessionEvent
from parley.events.values import Decision, Effect, Service, SessionSettings, Workflow, is_empty
from parley.protocol import server as v1
from parley.protocol.journal import EntryOrUpdate, Tone
from parley.protocol.views import (
    AnswerView,
    CodeView,
    FailureView,
    MemoryView,
    PathView,
    PlanView,
    VerdictView,
    View,
)


class WorkSection(View):
    """The service that is due, and the version that began its work. Drafts of other work are over."""

    service: Service
    version: int


class TurnSection(View):
    """The turn at hand; `actions` are the ids of its actions, in order."""

    number: int
    sub_goal: str
    by: str
    actions: tuple[str, ...]
    verdict: VerdictView | None
    selected_tool: str
    required_skills: tuple[str, ...]
    reasoning: str
    final: bool


class PollView(View):
    """How a step stands that polls. It looks every so many seconds (`every`), and gives up at `until`.

    `looks`, `value` and `error` are of the last look that showed something new; `next_look` is when the one after it
    was due. Looks that show nothing new are in no event, and follow every so many seconds.
    """

    every: int
    until: datetime | None
    looks: int
    value: JsonValue
    error: str
    next_look: datetime


class ActionSection(View):
    """An action of the turn at hand. Its result is in the event that brought it. `poll`: of a step that polls."""

    action_id: str
    tool: str
    arguments: dict[str, JsonValue]
    text: str
    effect: Effect
    status: str
    approval: str | None
    hash: str
    error: str
    depends_on: tuple[str, ...]
    repairs: tuple[str, ...]
    ruling: Decision
    why: str
    seconds: float
    tokens: int
    sub_goal: str = Field("", exclude_if=is_empty)
    poll: PollView | None = None


class Touched(View):
    """A server, a file or a table that a call names."""

    kind: Literal["host", "file", "table"]
    name: str


class StepSection(View):
    """What a step of an execution plan reaches, and what has come of it, in whichever of the plan's versions.

    `same_as`: the step before it that makes the very same change; "" where none does. `until`: what a step that is
    waiting waits for. `preapprovable`: an approval may allow its calls with whatever values its references get;
    `preapproved`: one did. `problem`: why it failed or was refused, in words. `poll`: of a step that polls. `given`: it
    was skipped, and a person gave its output. `used_by`: the ids of the steps that refer to its output, directly or
    through each other, and are still to be carried out.
    """

    action_id: str
    status: str
    word: str
    tone: Tone
    seconds: float
    until: datetime | None = None
    poll: PollView | None = None
    touches: tuple[Touched, ...] = ()
    same_as: str = ""
    preapprovable: bool = False
    preapproved: bool = False
    problem: str = Field("", exclude_if=is_empty)
    given: bool = False
    used_by: tuple[str, ...] = ()


class ReviewSection(View):
    """What waits for approval: the plan or the code with this `version` and `hash`, which an approval names."""

    target: Literal["plan", "code"]
    version: int
    number: int
    hash: str
    message: str


class FeedbackSection(View):
    """The plan or code was declined: what should be different?"""

    plan_type: Literal["text", "code"]
    message: str


class QuestionSection(View):
    """The open question; `question_id` goes back with the answer."""

    question_id: str
    about: str
    content: str
    options: tuple[str, ...]
    form: dict[str, JsonValue] | None


class ApprovalSection(View):
    """The ids of the actions that wait for approval."""

    actions: tuple[str, ...]
    message: str


class PathStanding(View):
    """Where a path stands, for an edit of its rest: `after` is what the edit names, `tool` the node that ran last."""

    after: str
    tool: str


class EscalationSection(View):
    """A person must act: why, and whether they have acted already."""

    message: str
    taken_over: bool


class NextSection(View):
    """The session rests: what can come next."""

    message: str
    options: tuple[str, ...]


class UsageSection(View):
    """What the session's model calls came to; cost in US dollars.

    `tool_calls` and `seconds` of services at work are told where a budget limits them.
    """

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float
    token_budget: int | None
    cost_budget: float | None
    tool_calls: int | None = None
    call_budget: int | None = None
    seconds: float | None = None
    time_budget: int | None = None


class ScreenView(View):
    """Where a session stands, in sections. Each is replaced whole, `actions` one by one (None: it is gone)."""

    state: str
    phase: str
    reason: str
    paused: bool
    title: str
    owner: str
    workflow: Workflow
    settings: SessionSettings
    parent: str | None
    request: str
    unread: tuple[str, ...]
    work: WorkSection | None
    plan: PlanView | None
    code: CodeView | None
    turn: TurnSection | None
    actions: dict[str, ActionSection]
    steps: dict[str, StepSection]
    path: PathView | None
    path_standing: PathStanding | None
    memory: MemoryView
    answer: AnswerView | None
    failure: FailureView | None
    review: ReviewSection | None
    feedback_request: FeedbackSection | None
    question: QuestionSection | None
    approval_request: ApprovalSection | None
    escalation: EscalationSection | None
    next: NextSection | None
    usage: UsageSection


class ScreenGreeting(v1.Greeting):
    """The first message on a socket. `session_id` is that of the session a `user_message` will begin."""

    protocol: Literal[2] = 2  # type: ignore[assignment]


class ScreenDelta(v1.Delta):
    """A draft as it is written: from `offset` (characters) on, the draft is `text`. Not stored.

    `work` is the version of the work that it belongs to. It is over when the view's work is another, or with an event
    that says so.
    """

    work: int


class ScreenSnapshot(v1.ServerMessage):
    """Where things stand, whole, with what is being drafted at this moment."""

    type: Literal["snapshot"] = "snapshot"
    view: ScreenView
    can: tuple[str, ...]
    draft: ScreenDelta | None = None


class ScreenEvent(v1.ServerMessage):
    """One event as stored, what it adds to the journal, and what it changed.

    `changed` has the sections of the view that differ from before, whole; of `actions` only those that differ. Events
    that a `resume` tells again have no `changed`, and None for `can`: the snapshot came first.
    """

    type: Literal["event"] = "event"
    event: SessionEvent
    entries: tuple[EntryOrUpdate, ...]
    changed: dict[str, JsonValue]
    can: tuple[str, ...] | None = None
    ends_draft: bool = False

    @property
    def review(self) -> ReviewSection | None:
        """What this event has put up for approval."""
        found = self.changed.get("review")
        return ReviewSection.model_validate(found) if found else None

    @property
    def approval_request(self) -> ApprovalSection | None:
        """The actions that wait since this event."""
        found = self.changed.get("approval_request")
        return ApprovalSection.model_validate(found) if found else None


AnyScreenMessage = Annotated[
    ScreenGreeting | ScreenSnapshot | ScreenEvent | ScreenDelta | v1.Log | v1.Forked | v1.Error,
    Field(discriminator="type"),
]
SCREEN_MESSAGES: TypeAdapter[AnyScreenMessage] = TypeAdapter(AnyScreenMessage)
