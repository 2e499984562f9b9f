"""What the gateway sends over `/ws`. Every message names its session, and the version where it tells of an event.

The version of a plan or of code is the version of the event that made it; `number` counts 1, 2, 3 for people.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from parley.events import SessionEvent
from parley.events.values import Check, PlanKind, SessionSettings, Step, Workflow, is_empty, is_none
from parley.protocol.views import ActionView as ActionView
from parley.protocol.views import AnswerView as AnswerView
from parley.protocol.views import CodeView as CodeView
from parley.protocol.views import FailureView as FailureView
from parley.protocol.views import MemoryView as MemoryView
from parley.protocol.views import NodeProposalView as NodeProposalView
from parley.protocol.views import PathView as PathView
from parley.protocol.views import PlannedPathView as PlannedPathView
from parley.protocol.views import PlanView as PlanView
from parley.protocol.views import SubGoalView as SubGoalView
from parley.protocol.views import TurnView as TurnView
from parley.protocol.views import VerdictView as VerdictView
from parley.protocol.views import View as View


class ServerMessage(BaseModel):
    # defer_build: a process uses few of these, and a validator takes a moment to make
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    session_id: str
    version: int | None = None


class Greeting(ServerMessage):
    """The first message on a socket. `session_id` is that of the session a `user_message` will begin."""

    type: Literal["greeting"] = "greeting"
    message: str
    protocol: Literal[1] = 1
    user: str
    rehearsal: bool
    model: str
    workflows: tuple[Workflow, ...]
    can_run_code: bool


class Log(ServerMessage):
    """Something worth telling that changes nothing, in words."""

    type: Literal["log"] = "log"
    content: str


class Event(ServerMessage):
    """One fact of the session's journal, as stored."""

    type: Literal["event"] = "event"
    event: SessionEvent


class TextPlanReview(ServerMessage):
    """A plan to approve, change or refuse. `version` and `hash` are what an approval names."""

    type: Literal["text_plan_review"] = "text_plan_review"
    plan: str
    goal: str
    kind: PlanKind
    steps: tuple[Step, ...]
    notes: str
    number: int
    hash: str
    message: str
    path: PlannedPathView | None = None


class CodeReview(ServerMessage):
    """Code to approve, change or refuse, with what the verifier found. `version` is the code's, as for approval."""

    type: Literal["code_review"] = "code_review"
    code: str
    explanation: str
    number: int
    hash: str
    checks: tuple[Check, ...]
    tests: str
    message: str


class FeedbackRequest(ServerMessage):
    """The plan or code was refused: what should be different?"""

    type: Literal["feedback_request"] = "feedback_request"
    plan_type: Literal["text", "code"]
    message: str


class Question(ServerMessage):
    """A question for the person; `question_id` goes back with the answer.

    A `form` says the same in values. `{"kind": "tables", "tables": [{"name", "reason", "chosen", "columns"}]}`: which
    tables to use; the answer is `{"tables": [names]}` as JSON, or words.
    """

    type: Literal["question"] = "question"
    question_id: str
    about: str
    content: str
    options: tuple[str, ...] = ()
    form: dict[str, JsonValue] | None = None


class ApprovalRequest(ServerMessage):
    """Actions that wait for a yes; each is approved by its `action_id` and `hash`."""

    type: Literal["approval_request"] = "approval_request"
    actions: tuple[ActionView, ...]
    message: str


class ContinueContent(View):
    message: str
    options: tuple[str, ...]


class Continue(ServerMessage):
    """The session rests: what next? The options, or any new request."""

    type: Literal["continue"] = "continue"
    content: ContinueContent


class Completion(ServerMessage):
    """What was approved in this round."""

    type: Literal["completion"] = "completion"
    final_plan: str
    final_code: str
    message: str


class Answer(ServerMessage):
    """The answer to the request: how sure it is (0 to 1), and the actions that support it."""

    type: Literal["answer"] = "answer"
    text: str
    confidence: float
    evidence: tuple[str, ...]


class Completed(ServerMessage):
    """The person said it is done; a later message still goes on."""

    type: Literal["completed"] = "completed"
    content: str


class Stopped(ServerMessage):
    """The session rests because a person stopped it."""

    type: Literal["stopped"] = "stopped"
    message: str


class Failed(ServerMessage):
    """A stage failed; `retry` does it again."""

    type: Literal["failed"] = "failed"
    failure: FailureView
    message: str


class Delta(ServerMessage):
    """A draft as it is written: from `offset` (characters) on, the draft is `text`. Not stored, nothing to resume."""

    type: Literal["delta"] = "delta"
    draft_id: str
    kind: Literal["plan", "code", "tests", "answer", "verdict", "node"]
    offset: int
    text: str


class Usage(ServerMessage):
    """What the session's model calls came to; cost in US dollars.

    `tool_calls` and `seconds` of services at work are told where a budget limits them.
    """

    type: Literal["usage"] = "usage"
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float
    token_budget: int | None = None
    cost_budget: float | None = None
    tool_calls: Annotated[int | None, Field(exclude_if=is_none)] = None
    call_budget: Annotated[int | None, Field(exclude_if=is_none)] = None
    seconds: Annotated[float | None, Field(exclude_if=is_none)] = None
    time_budget: Annotated[int | None, Field(exclude_if=is_none)] = None


class Forked(ServerMessage):
    """A new session was begun from this one; `fork_id` is its id."""

    type: Literal["forked"] = "forked"
    fork_id: str


class Error(ServerMessage):
    """Something was refused, and nothing has changed: `code` for programs, `message` and `hint` for people."""

    type: Literal["error"] = "error"
    code: str
    message: str
    hint: str = ""
    content: str = ""  # the message again, where older clients look for it
    reply_to: str | None = None  # the id of the message that was refused, if it had one
    retry_after: int | None = None  # seconds after which to send it again, where that is known
    steps: dict[str, tuple[str, ...]] = Field(default_factory=dict, exclude_if=is_empty)  # id: what is wrong


class Snapshot(ServerMessage):
    """Where things stand: everything a screen needs. `can` lists the client messages that are accepted now."""

    type: Literal["snapshot"] = "snapshot"
    state: str
    phase: str
    reason: str
    paused: bool
    title: str
    owner: str
    workflow: Workflow
    settings: SessionSettings
    request: str
    unread: tuple[str, ...]
    plan: PlanView | None
    code: CodeView | None
    turn: TurnView | None
    path: PathView | None = None
    memory: MemoryView
    answer: str
    answer_view: AnswerView | None
    failure: FailureView | None
    review: TextPlanReview | CodeReview | None
    feedback_request: FeedbackRequest | None
    question: Question | None
    approval_request: ApprovalRequest | None
    continue_: Annotated[Continue | None, Field(alias="continue")] = None
    draft: Delta | None = None
    usage: Usage
    can: tuple[str, ...]
    parent: str | None = None

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)


AnyServerMessage = Annotated[
    Greeting
    | Log
    | Event
    | TextPlanReview
    | CodeReview
    | FeedbackRequest
    | Question
    | ApprovalRequest
    | Continue
    | Completion
    | Answer
    | Completed
    | Stopped
    | Failed
    | Delta
    | Usage
    | Forked
    | Error
    | Snapshot,
    Field(discriminator="type"),
]
SERVER_MESSAGES: TypeAdapter[AnyServerMessage] = TypeAdapter(AnyServerMessage)


def dump(message: ServerMessage) -> dict[str, Any]:
    """The message as JSON-ready data."""
    return message.model_dump(mode="json", by_alias=True)
