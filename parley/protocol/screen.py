"""Protocol 2, `/ws?view=2`: everything that a screen shows of a session, so that clients need no rules of their own.

First a `snapshot` with the whole view. With each event the event itself, its `entries` for the journal, and `changed`:
the sections of the view that differ now, whole. `can` lists the client messages that would be accepted.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from parley.events import SessionEvent
from parley.events.offers import OfferedDraft
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
    """The service at work, and the version that started the work. Drafts of other work are obsolete."""

    service: Service = Field(description="the service that is due")
    version: int = Field(description="version of the event that began the work")


class TurnSection(View):
    """The current turn."""

    number: int = Field(description="counts the session's turns: 1, 2, 3 …")
    sub_goal: str = Field(description="what the turn is for")
    by: str = Field(description="who made it")
    actions: tuple[str, ...] = Field(description="the ids of its actions, in order")
    verdict: VerdictView | None = Field(description="the verifier's, once there is one")
    selected_tool: str = Field(description="the tool that the planner chose first")
    required_skills: tuple[str, ...] = Field(description="the skills that the sub-goal needs")
    reasoning: str = Field(description="why the planner chose these actions")
    final: bool = Field(description="true: the request is fulfilled when these actions succeed")


class PollView(View):
    """The state of a polling step. Polls without a new result cause no event."""

    every: int = Field(description="seconds between two polls")
    until: datetime | None = Field(description="when the step gives up")
    polls: int = Field(description="the number of polls when the value last changed")
    value: JsonValue = Field(description="the value at that poll")
    error: str = Field(description="why that poll failed; empty otherwise")
    next_poll: datetime = Field(description="the time of the poll after that one; later polls follow at the interval")


class ActionSection(View):
    """An action of the current turn. Its result is in its event."""

    action_id: str = Field(description="the action's id")
    tool: str = Field(description="name of the tool")
    arguments: dict[str, JsonValue] = Field(description="the tool's arguments")
    text: str = Field(description="what it is for")
    effect: Effect = Field(description="what the tool does to the world")
    status: str = Field(
        description="`planned`, `approved`, `denied`, `started`, `asked`, `waiting`, `finished`, `failed`, "
        "`skipped` or `uncertain`"
    )
    approval: str | None = Field(description="why it needs approval; null where it needs none")
    hash: str = Field(description="the content hash that an approval names")
    error: str = Field(description="the error; empty where there is none")
    depends_on: tuple[str, ...] = Field(description="ids of actions that must succeed first")
    repairs: tuple[str, ...] = Field(description="corrections of the arguments that the model wrote")
    ruling: Decision = Field(description="the domain's decision; only `skip` and `deny` prevent the call")
    why: str = Field(description="the reason of the ruling; empty where none is needed")
    seconds: float = Field(description="its duration in seconds")
    tokens: int = Field(description="tokens of the model calls made for it")
    sub_goal: str = Field("", exclude_if=is_empty, description="the sub-goal that it serves; empty: the turn's own")
    poll: PollView | None = Field(None, description="how the step polls; none: it does not poll")


class AffectedResource(View):
    """A server, file or table that a call names."""

    kind: Literal["host", "file", "table"] = Field(description="`host`, `file` or `table`")
    name: str = Field(description="its name")


class StepSection(View):
    """What a step of an execution plan affects, and its outcome, in any version of the plan."""

    action_id: str = Field(description="the action's id")
    status: str = Field(description="`planned`, `started`, `finished` …: as the `status` of an action")
    word: str = Field(description="the status in words")
    tone: Tone = Field(description="tone of the status")
    seconds: float = Field(description="its duration in seconds")
    until: datetime | None = Field(None, description="when a waiting step goes on, or a polling one gives up")
    poll: PollView | None = Field(None, description="how the step polls; none: it does not poll")
    touches: tuple[AffectedResource, ...] = Field((), description="the servers, files and tables that its call names")
    same_as: str = Field("", description="the id of the first step that makes the same change; empty where none does")
    preapprovable: bool = Field(
        False, description="whether an approval can cover its calls, whatever values its references get"
    )
    preapproved: bool = Field(False, description="whether an approval covers them so")
    problem: str = Field(
        "", exclude_if=is_empty, description="why it failed or was refused; absent where there is nothing to say"
    )
    given: bool = Field(False, description="true: it was skipped, and a person gave its output")
    used_by: tuple[str, ...] = Field(
        (),
        description="ids of the pending steps that refer to its output, directly or through each other",
    )


class ReviewSection(View):
    """What awaits approval, which names `version` and `hash`."""

    target: Literal["plan", "code"] = Field(description="`plan` or `code`")
    version: int = Field(description="version of the event that made the plan or code")
    number: int = Field(description="a number for people: 1, 2, 3 …")
    hash: str = Field(description="the content hash that an approval names")
    message: str = Field(description="for people")


class FeedbackSection(View):
    """The plan or code was rejected, and Parley asks what should be different."""

    plan_type: Literal["text", "code"] = Field(description="what was rejected: the plan (`text`) or the code")
    message: str = Field(description="for people")


class FurtherQuestionSection(View):
    """A question that follows the open one. It is open next, unless it is answered together with it."""

    question_id: str = Field(description="what an answer names once it is the open one")
    content: str = Field(description="the question")
    options: tuple[str, ...] = Field(description="the answers to choose from; empty: any text")
    several: bool = Field(description="true: several of the options may be chosen")


class QuestionSection(View):
    """The open question. Its answer may hold the answers to the further ones, too."""

    question_id: str = Field(description="the question's id, which the answer names")
    about: str = Field(
        description="what the question is about: the request, what comes next, the budget, whether to go on after "
        "many turns, an action, or an uncertain action"
    )
    content: str = Field(description="the question")
    options: tuple[str, ...] = Field(description="the answers to choose from; empty: any text")
    form: dict[str, JsonValue] | None = Field(
        description="the subject of the question as data; none: the text says it all"
    )
    several: bool = Field(description="true: several of the options may be chosen")
    further: tuple[FurtherQuestionSection, ...] = Field(description="the questions that follow, in order")


class ApprovalSection(View):
    """The ids of the actions that await approval. While the session is executing, reads beside them still run."""

    actions: tuple[str, ...] = Field(description="the ids of the actions that wait")
    message: str = Field(description="for people")


class OfferSection(View):
    """A draft beside what waits or runs. Until it is taken or turned down, nothing but reads begins."""

    version: int = Field(description="what `take_offer` and `keep_offer` name")
    draft: OfferedDraft = Field(description="what is offered")


class PathStanding(View):
    """A running path's position, for an edit of its rest."""

    after: str = Field(description="the id of the newest started action, which the edit names")
    tool: str = Field(description="the node that ran last")


class EscalationSection(View):
    """The session is escalated: why, and whether a person has taken over."""

    message: str = Field(description="for people")
    taken_over: bool = Field(description="true: the person has acted already")


class NextSection(View):
    """The options while the session rests."""

    message: str = Field(description="for people")
    options: tuple[str, ...] = Field(description="the options to choose from")


class UsageSection(View):
    """The session's usage so far."""

    calls: int = Field(description="the number of model calls")
    prompt_tokens: int = Field(description="tokens sent")
    cached_tokens: int = Field(description="prompt tokens that the provider served from its cache")
    completion_tokens: int = Field(description="tokens received")
    cost: float = Field(description="US dollars")
    token_budget: int | None = Field(description="the largest number of tokens; none: no limit")
    cost_budget: float | None = Field(description="the largest cost in US dollars; none: no limit")
    tool_calls: int | None = Field(None, description="tool calls so far; absent where no budget limits them")
    call_budget: int | None = Field(
        None, description="the largest number of tool calls, polls included; none: no limit"
    )
    seconds: float | None = Field(None, description="seconds of work so far; absent where no budget limits it")
    time_budget: int | None = Field(
        None, description="the largest working time of all services in seconds; none: no limit"
    )


class ScreenView(View):
    """A session's view in sections. Each is replaced whole, `actions` one by one (None: removed)."""

    state: str = Field(description="where the session stands, in one word: see [states](#states)")
    phase: str = Field(description="the phase of the machine")
    reason: str = Field(
        description="why it rests: `answered`, `completed`, `stopped`; `new` before and during the first request"
    )
    paused: bool = Field(description="true: no new step begins")
    title: str = Field(description="the session's title")
    owner: str = Field(description="whose session it is")
    workflow: Workflow = Field(description="the name of the workflow that the session follows")
    settings: SessionSettings = Field(description="the session's settings")
    parent: str | None = Field(description="the session it was forked from")
    request: str = Field(description="the request of this round")
    unread: tuple[str, ...] = Field(description="messages sent during work that no draft has used yet")
    work: WorkSection | None = Field(description="the service that is due, and the version that began its work")
    reply: WorkSection | None = Field(description="the service that answers a message beside the work")
    plan: PlanView | None = Field(description="the newest plan")
    code: CodeView | None = Field(description="the newest code")
    turn: TurnSection | None = Field(description="the newest turn")
    actions: dict[str, ActionSection] = Field(description="of the turn at hand, by id")
    steps: dict[str, StepSection] = Field(
        description="the steps of an execution plan by id: what they affect, and how they go"
    )
    path: PathView | None = Field(description="the path as planned and as it runs; none: no flow is walked")
    path_standing: PathStanding | None = Field(
        description="where the path stands, for an edit of its rest; none: no path can be changed"
    )
    memory: MemoryView = Field(description="what is remembered of the request at hand")
    answer: AnswerView | None = Field(
        description="the answer with its confidence and evidence; none: there is none yet"
    )
    failure: FailureView | None = Field(description="the failure, and whether `retry` can help")
    review: ReviewSection | None = Field(description="the plan or code in review")
    feedback_request: FeedbackSection | None = Field(description="set while Parley waits for feedback")
    question: QuestionSection | None = Field(description="the open question")
    approval_request: ApprovalSection | None = Field(description="the actions that wait for approval")
    offer: OfferSection | None = Field(description="the draft that is offered beside what waits or runs")
    escalation: EscalationSection | None = Field(description="why a person must act, where one must")
    next: NextSection | None = Field(description="what can be done next, at rest")
    usage: UsageSection = Field(description="what was spent so far")


class ScreenGreeting(v1.Greeting):
    """The first message on a socket. `session_id`: the session that a `user_message` will begin."""

    protocol: Literal[2] = 2  # type: ignore[assignment]


class ScreenDelta(v1.Delta):
    """A piece of a draft: from `offset` (characters) on, the draft is `text`. Not stored.

    `work`: the version of its work. The draft ends when the view's work is another one, or with an event that says so.
    """

    work: int = Field(description="the version of the work that the draft belongs to")


class ScreenSnapshot(v1.ServerMessage):
    """The whole view of a session, with the draft that is being written."""

    type: Literal["snapshot"] = "snapshot"
    view: ScreenView = Field(description="the whole [view](#screenview)")
    can: tuple[str, ...] = Field(
        description="the client messages that would be accepted now (`edit_code` is `edit` with `target: code`)"
    )
    draft: ScreenDelta | None = Field(None, description="the draft that is being written")


class ScreenEvent(v1.ServerMessage):
    """One event as stored, the journal entries that it adds, and what it changed."""

    type: Literal["event"] = "event"
    event: SessionEvent = Field(description="the event as stored: see [events](events.md)")
    entries: tuple[EntryOrUpdate, ...] = Field(
        description="what it adds to the journal: [entries](#entries-of-the-journal) and updates of earlier ones"
    )
    changed: dict[str, JsonValue] = Field(
        description="the sections of the [view](#screenview) that are different now, whole; of `actions` "
        "only those that differ; none in a repeated event"
    )
    can: tuple[str, ...] | None = Field(
        None, description="the client messages that would be accepted now; null in a repeated event"
    )
    ends_draft: bool = Field(False, description="true: the draft is over")

    @property
    def review(self) -> ReviewSection | None:
        """The plan or code that this event put in review."""
        section = self.changed.get("review")
        return ReviewSection.model_validate(section) if section else None

    @property
    def approval_request(self) -> ApprovalSection | None:
        """The actions that await approval since this event."""
        section = self.changed.get("approval_request")
        return ApprovalSection.model_validate(section) if section else None


AnyScreenMessage = Annotated[
    ScreenGreeting | ScreenSnapshot | ScreenEvent | ScreenDelta | v1.Log | v1.Forked | v1.Error,
    Field(discriminator="type"),
]
SCREEN_MESSAGES: TypeAdapter[AnyScreenMessage] = TypeAdapter(AnyScreenMessage)
